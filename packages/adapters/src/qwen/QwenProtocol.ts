/**
 * What the lines of Qwen Code mean, and how answers go back. The frames are Claude Code's; what stands in them is not: ids of messages, tools,
 * results, errors and the words for them are its own.
 *
 * Each block of a message is printed under its own id and streams under index 0, so blocks are counted. The result counts
 * tokens of earlier runs of a conversation, so those of the messages are added up instead.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent, AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { controlRefusal, controlRequest, controlResponse, userMessage } from "../claude-code/Frames.ts"
import { arrayOf, countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { Calls } from "../one-shot/Calls.ts"
import { toProgramFailure, serviceFailure, startFailure, type ProgramInfo } from "../one-shot/Failure.ts"
import { readSessionId } from "../one-shot/OneShot.ts"
import { fileEventsOfCall } from "../one-shot/Tools.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { toQwenApproval } from "./Approval.ts"

/** The message that streams now, and how many of its blocks have begun. */
interface Streaming {
  readonly messageId: string
  blocks: number
}

const CREATED = "Successfully created and wrote to new file"

const exitCodeOf = (output: string | undefined): number | undefined => {
  const code = /^Exit Code: (\d{1,3})$/m.exec(output ?? "")?.[1]
  return code === undefined ? undefined : Number(code)
}

const outputOf = (content: unknown): string | undefined =>
  textOf(content) ??
  (Array.isArray(content)
    ? content.flatMap((block) => textOf(objectOf(block)["text"]) ?? []).join("\n")
    : undefined)

export class QwenProtocol implements Protocol {
  readonly open: string
  readonly #words: ProgramInfo
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #calls: Calls
  /** By the call of the sub-agent, `""` for the agent itself. */
  readonly #streaming = new Map<string, Streaming>()
  /** Tool inputs of the approvals that wait, by request id. */
  readonly #asked = new Map<string, JsonObject>()
  #usage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }
  #cancelling = false

  constructor(words: ProgramInfo, { prompt, workspacePath }: RunStart) {
    this.#words = words
    this.#calls = new Calls(this.#collector, workspacePath)
    this.open = controlRequest("initialize", "initialize") + userMessage(prompt)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#read(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#read(this.#lines.end())
    const reason = startFailure(end) ?? (/Unknown argument/.test(end.stderr) ? "bad_option" : undefined)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#words, reason, end.stderr))
    this.#collector.concludeAtExit(this.#words.label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason, updatedInput }) => {
    const input = this.#asked.get(key)
    if (input === undefined) return undefined
    this.#asked.delete(key)
    // Edited input is not verified: the runtime might do something else than what was allowed.
    if (decision === "allow" && updatedInput === undefined)
      return controlResponse(key, { behavior: "allow", updatedInput: input })
    const edited = updatedInput === undefined ? undefined : "An edited input cannot be carried out."
    const message = edited ?? reason ?? "This was not allowed. Go on without it."
    return controlResponse(key, { behavior: "deny", message })
  }

  readonly input: Protocol["input"] = () => undefined

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    return controlRequest("interrupt", "interrupt")
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#said(said))
  }

  #said(said: JsonObject): void {
    switch (said["type"]) {
      case "stream_event":
        return this.#streamed(objectOf(said["event"]), textOf(said["parent_tool_use_id"]))
      case "assistant":
        return this.#assistant(objectOf(said["message"]), textOf(said["parent_tool_use_id"]))
      case "user":
        return this.#user(said)
      case "system":
        return this.#system(said)
      case "control_request":
        return this.#asks(said)
      case "control_cancel_request": {
        const key = textOf(said["request_id"])
        if (key !== undefined && this.#collector.withdrawApproval(key, "the runtime no longer waits for it"))
          this.#asked.delete(key)
        return
      }
      case "control_response":
        return
      case "result":
        return this.#result(said)
      default:
        this.#collector.countUnknown(textOf(said["type"]) ?? "untyped")
    }
  }

  #streamed(event: JsonObject, parentCallId: string | undefined): void {
    const key = parentCallId ?? ""
    switch (event["type"]) {
      case "content_block_delta": {
        const delta = objectOf(event["delta"])
        const reasoning = delta["type"] === "thinking_delta"
        if (!reasoning && delta["type"] !== "text_delta") return
        const text = textOf(delta[reasoning ? "thinking" : "text"]) ?? ""
        if (text === "") return
        const messageId = this.#blockId(key, "message")
        const channel = reasoning ? "reasoning" : "text"
        return this.#collector.emitEvent(
          draft("run.message.delta", { messageId, channel, text, ...defined({ parentCallId }) })
        )
      }
      case "message_start": {
        const messageId = textOf(objectOf(event["message"])["id"]) ?? "message"
        this.#streaming.set(key, { messageId, blocks: 0 })
        return
      }
      case "content_block_start": {
        const streaming = this.#streaming.get(key)
        if (streaming !== undefined) streaming.blocks++
        return
      }
      case "message_stop":
        this.#streaming.delete(key)
    }
  }

  /** The block that streams now, or the one of a message that does not stream. */
  #blockId(key: string, messageId: string): string {
    const streaming = this.#streaming.get(key)
    return streaming === undefined ? messageId : `${streaming.messageId}:${streaming.blocks}`
  }

  #assistant(message: JsonObject, parentCallId: string | undefined): void {
    const messageId = this.#blockId(parentCallId ?? "", textOf(message["id"]) ?? "message")
    for (const block of arrayOf(message["content"]).filter(isJsonObject)) {
      switch (block["type"]) {
        case "text":
        case "thinking": {
          const channel = block["type"] === "text" ? "text" : "reasoning"
          const text = textOf(block[block["type"]]) ?? ""
          const role = "assistant"
          this.#collector.emitEvent(
            draft("run.message.completed", { messageId, role, channel, text, ...defined({ parentCallId }) })
          )
          break
        }
        case "tool_use":
          this.#calls.call(textOf(block["id"]), textOf(block["name"]), block["input"], parentCallId)
          break
        default:
          this.#collector.countUnknown(textOf(block["type"]) ?? "block")
      }
    }
    this.#spend(objectOf(message["usage"]))
  }

  #spend(told: JsonObject): void {
    const output = countOf(told["output_tokens"]) ?? 0
    if (output === 0) return
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = this.#usage
    this.#usage = {
      inputTokens: inputTokens + (countOf(told["input_tokens"]) ?? 0),
      outputTokens: outputTokens + output,
      cachedInputTokens: cachedInputTokens + (countOf(told["cache_read_input_tokens"]) ?? 0)
    }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage })
  }

  #user(said: JsonObject): void {
    for (const block of arrayOf(objectOf(said["message"])["content"]).filter(isJsonObject)) {
      if (block["type"] !== "tool_result") continue
      const output = outputOf(block["content"])
      const failed = block["is_error"] === true
      const refused = output?.startsWith("[Operation Cancelled]") === true
      const status = !failed ? "completed" : !refused ? "failed" : this.#cancelling ? "cancelled" : "denied"
      const exitCode = failed ? exitCodeOf(output) : undefined
      const callId = textOf(block["tool_use_id"])
      this.#calls.result(callId, { status, output, exitCode }, this.#created(callId, output))
    }
  }

  /** The file that a call made, where its text says that it did; otherwise its input tells enough. */
  #created(callId: string | undefined, output: string | undefined): ReadonlyArray<AdapterEvent> | undefined {
    const call = callId === undefined ? undefined : this.#calls.get(callId)
    if (callId === undefined || call === undefined || output?.startsWith(CREATED) !== true) return undefined
    return fileEventsOfCall(call.tool, call.input, callId, this.#calls.relative, "created")
  }

  #system(said: JsonObject): void {
    switch (said["subtype"]) {
      case "init":
        return this.#collector.start(
          defined({
            runtimeSessionId: readSessionId(said["session_id"]),
            runtimeVersion: textOf(said["qwen_code_version"]),
            model: textOf(said["model"]),
            mode: textOf(said["permission_mode"])
          })
        )
      case "retry":
        return this.#retry(objectOf(said["data"]))
      default:
        this.#collector.countUnknown(`system/${textOf(said["subtype"]) ?? ""}`)
    }
  }

  /** It does not say why: words about that are only in its own log. */
  #retry({ attempt, delayMs, maxRetries: maxAttempts, reason }: JsonObject): void {
    const failure = serviceFailure(this.#words, textOf(reason) === "retry" ? "" : (textOf(reason) ?? ""))
    this.#collector.emitEvent(toRetryEvent({ attempt, maxAttempts, delayMs, failure }))
  }

  #asks(said: JsonObject): void {
    const key = textOf(said["request_id"])
    const request = objectOf(said["request"])
    const subtype = textOf(request["subtype"])
    if (key === undefined || subtype === undefined) return this.#collector.countUnknown("control_request")
    if (subtype === "can_use_tool") {
      if (this.#collector.requestApproval(key, toQwenApproval(request, this.#calls.relative)))
        this.#asked.set(key, objectOf(request["input"]))
      return
    }
    // No answer is possible here. Without a refusal the runtime would wait for ever.
    this.#collector.countUnknown(`control_request/${subtype}`)
    this.#collector.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #result(said: JsonObject): void {
    const usage: Usage = { ...this.#usage, ...defined({ turns: countOf(said["num_turns"]) }) }
    if (said["is_error"] !== true) {
      return this.#collector.conclude({
        _tag: "Completed",
        usage,
        ...defined({ text: textOf(said["result"]) })
      })
    }
    const told = textOf(objectOf(said["error"])["message"]) ?? textOf(said["result"]) ?? ""
    if (this.#cancelling || told === "Operation cancelled.") {
      return this.#collector.conclude({ _tag: "Cancelled", reason: "interrupted", usage })
    }
    const failure = /No auth type is selected/.test(told)
      ? toProgramFailure(this.#words, "not_signed_in", told)
      : serviceFailure(this.#words, told)
    this.#collector.fail(failure, usage)
  }
}
