/**
 * One run's conversation with Qwen Code. Its frames are Claude Code's, with its own ids of messages, tools, results and errors.
 *
 * Each block of a message is printed with its own id and streamed with index 0, so blocks are counted here. The result includes tokens of
 * earlier runs of a conversation, so the tokens of messages are added up instead.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent, AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { controlRefusal, controlRequest, controlResponse, userMessage } from "../claude-code/Frames.ts"
import { arrayOf, countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { Calls } from "../one-shot/Calls.ts"
import {
  toProgramFailure,
  serviceFailure,
  startFailure,
  type ProgramInfo,
  type Reason
} from "../one-shot/Failure.ts"
import { readSessionId } from "../one-shot/OneShot.ts"
import { fileEventsOfCall } from "../one-shot/Tools.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { toQwenApproval } from "./Approval.ts"

/** The message that is streamed now, and the number of its blocks so far. */
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

/** Why the program ended without a result, from its stderr. */
const reasonIn = (stderr: string): Reason | undefined => {
  if (/^No saved session found with ID /m.test(stderr)) return "unknown_session"
  return /Unknown argument/.test(stderr) ? "bad_option" : undefined
}

export class QwenProtocol implements Protocol {
  readonly open: string
  readonly #program: ProgramInfo
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #calls: Calls
  /** Messages that are streamed now, by the call of the sub-agent (`""` for the agent itself). */
  readonly #streaming = new Map<string, Streaming>()
  /** Tool inputs of the waiting approvals, by request id. */
  readonly #waitingInputs = new Map<string, JsonObject>()
  #usage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }
  #cancelling = false

  constructor(program: ProgramInfo, { images, prompt, workspacePath }: RunStart) {
    this.#program = program
    this.#calls = new Calls(this.#collector, workspacePath)
    this.open = controlRequest("initialize", "initialize") + userMessage(prompt, images)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const reason = startFailure(end) ?? reasonIn(end.stderr)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#program, reason, end.stderr))
    this.#collector.concludeAtExit(this.#program.label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason, updatedInput }) => {
    const input = this.#waitingInputs.get(key)
    if (input === undefined) return undefined
    this.#waitingInputs.delete(key)
    // Edited input is not verified: the runtime might execute something else.
    if (decision === "allow" && updatedInput === undefined)
      return controlResponse(key, { behavior: "allow", updatedInput: input })
    const edited = updatedInput === undefined ? undefined : "An edited input is not supported."
    const message = edited ?? reason ?? "This was not allowed. Continue without it."
    return controlResponse(key, { behavior: "deny", message })
  }

  readonly input: Protocol["input"] = () => undefined

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    return controlRequest("interrupt", "interrupt")
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (line) => this.#readLine(line))
  }

  #readLine(line: JsonObject): void {
    switch (line["type"]) {
      case "stream_event":
        return this.#readFrame(objectOf(line["event"]), textOf(line["parent_tool_use_id"]))
      case "assistant":
        return this.#readAssistant(objectOf(line["message"]), textOf(line["parent_tool_use_id"]))
      case "user":
        return this.#readUser(line)
      case "system":
        return this.#readSystem(line)
      case "control_request":
        return this.#readRequest(line)
      case "control_cancel_request": {
        const key = textOf(line["request_id"])
        if (key !== undefined && this.#collector.withdrawApproval(key, "the runtime no longer waits for it"))
          this.#waitingInputs.delete(key)
        return
      }
      case "control_response":
        return
      case "result":
        return this.#readResult(line)
      default:
        this.#collector.countUnknown(textOf(line["type"]) ?? "untyped")
    }
  }

  #readFrame(event: JsonObject, parentCallId: string | undefined): void {
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

  /** Id of the block that is streamed now, or of a message without a stream. */
  #blockId(key: string, messageId: string): string {
    const streaming = this.#streaming.get(key)
    return streaming === undefined ? messageId : `${streaming.messageId}:${streaming.blocks}`
  }

  #readAssistant(message: JsonObject, parentCallId: string | undefined): void {
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
    this.#addUsage(objectOf(message["usage"]))
  }

  #addUsage(usage: JsonObject): void {
    const output = countOf(usage["output_tokens"]) ?? 0
    if (output === 0) return
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = this.#usage
    this.#usage = {
      inputTokens: inputTokens + (countOf(usage["input_tokens"]) ?? 0),
      outputTokens: outputTokens + output,
      cachedInputTokens: cachedInputTokens + (countOf(usage["cache_read_input_tokens"]) ?? 0)
    }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage })
  }

  #readUser(line: JsonObject): void {
    for (const block of arrayOf(objectOf(line["message"])["content"]).filter(isJsonObject)) {
      if (block["type"] !== "tool_result") continue
      const output = outputOf(block["content"])
      const isFailed = block["is_error"] === true
      const isRefused = output?.startsWith("[Operation Cancelled]") === true
      const status = !isFailed
        ? "completed"
        : !isRefused
          ? "failed"
          : this.#cancelling
            ? "cancelled"
            : "denied"
      const exitCode = isFailed ? exitCodeOf(output) : undefined
      const callId = textOf(block["tool_use_id"])
      this.#calls.result(callId, { status, output, exitCode }, this.#newFile(callId, output))
    }
  }

  /** Events of a new file if the output reports one; `undefined` if the input is enough. */
  #newFile(callId: string | undefined, output: string | undefined): ReadonlyArray<AdapterEvent> | undefined {
    const call = callId === undefined ? undefined : this.#calls.get(callId)
    if (callId === undefined || call === undefined || output?.startsWith(CREATED) !== true) return undefined
    return fileEventsOfCall(call.tool, call.input, callId, this.#calls.relative, "created")
  }

  #readSystem(line: JsonObject): void {
    switch (line["subtype"]) {
      case "init":
        return this.#collector.start(
          defined({
            runtimeSessionId: readSessionId(line["session_id"]),
            runtimeVersion: textOf(line["qwen_code_version"]),
            model: textOf(line["model"]),
            mode: textOf(line["permission_mode"])
          })
        )
      case "retry":
        return this.#emitRetry(objectOf(line["data"]))
      default:
        this.#collector.countUnknown(`system/${textOf(line["subtype"]) ?? ""}`)
    }
  }

  /** Emits a retry. The report may have no reason, which is only in the program's log. */
  #emitRetry({ attempt, delayMs, maxRetries: maxAttempts, reason }: JsonObject): void {
    const failure = serviceFailure(this.#program, textOf(reason) === "retry" ? "" : (textOf(reason) ?? ""))
    this.#collector.emitEvent(toRetryEvent({ attempt, maxAttempts, delayMs, failure }))
  }

  #readRequest(line: JsonObject): void {
    const key = textOf(line["request_id"])
    const request = objectOf(line["request"])
    const subtype = textOf(request["subtype"])
    if (key === undefined || subtype === undefined) return this.#collector.countUnknown("control_request")
    if (subtype === "can_use_tool") {
      if (this.#collector.requestApproval(key, toQwenApproval(request, this.#calls.relative)))
        this.#waitingInputs.set(key, objectOf(request["input"]))
      return
    }
    // The runtime would wait forever without a response.
    this.#collector.countUnknown(`control_request/${subtype}`)
    this.#collector.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #readResult(line: JsonObject): void {
    const usage: Usage = { ...this.#usage, ...defined({ turns: countOf(line["num_turns"]) }) }
    if (line["is_error"] !== true) {
      return this.#collector.conclude({
        _tag: "Completed",
        usage,
        ...defined({ text: textOf(line["result"]) })
      })
    }
    const message = textOf(objectOf(line["error"])["message"]) ?? textOf(line["result"]) ?? ""
    if (this.#cancelling || message === "Operation cancelled.") {
      return this.#collector.conclude({ _tag: "Cancelled", reason: "interrupted", usage })
    }
    const failure = /No auth type is selected/.test(message)
      ? toProgramFailure(this.#program, "not_signed_in", message)
      : serviceFailure(this.#program, message)
    this.#collector.fail(failure, usage)
  }
}
