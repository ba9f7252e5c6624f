/**
 * What the lines of Claude Code mean, and how answers go back.
 *
 * A run is over when every message it was given is answered. The runtime may fold a message that comes during a turn into that turn, with
 * one result for both; so further input waits here for the result, and the next turn begins with it: one result for each message.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, countOf, defined, isObject, objectOf, textOf, type JsonObject } from "../Json.ts"
import { JsonLines, type JsonLine } from "../JsonLines.ts"
import { relativeTo, type Relative } from "../Relative.ts"
import { retrying } from "../Retrying.ts"
import { Turn } from "../Turn.ts"
import { addUsage, failureOfCall, failureWithoutResult, outcomeOf, usageOf } from "./Ending.ts"
import { controlRefusal, controlRequest, controlResponse, userMessage } from "./Frames.ts"
import { Messages } from "./Messages.ts"
import { exitCodeOf, filesOf, outputOf, statusOf } from "./ToolResult.ts"
import { Spending } from "./Spending.ts"
import { approvalOf, labelOf } from "./ToolUse.ts"

/** A conversation id that may stand in a command line: never an option, never a path. */
const sessionIdOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined

export class ClaudeCodeProtocol implements Protocol {
  readonly open: string
  readonly #resumed: boolean
  readonly #lines = new JsonLines()
  readonly #turn = new Turn()
  readonly #messages = new Messages()
  readonly #spending = new Spending()
  readonly #workspacePath: string
  /** Left out of paths: the workspace, and what the runtime calls its folder. */
  #relative: Relative
  /** Tool inputs of the approvals that wait, by request id. */
  readonly #asked = new Map<string, JsonObject>()
  /** Messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  #noCredentials = false
  #lastError: string | undefined
  #cancelling = false
  #usage: Usage | undefined

  constructor(start: RunStart) {
    this.#workspacePath = start.workspacePath
    this.#relative = relativeTo(start.workspacePath)
    this.#resumed = start.resumeSessionId !== undefined
    this.open = controlRequest("initialize", "initialize") + userMessage(start.prompt)
  }

  readonly step: Protocol["step"] = (chunk) => this.#read(this.#turn.over ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#turn.over) return []
    const outputs = this.#read(this.#lines.end())
    const failure = failureWithoutResult(end)
    if (failure === undefined) this.#turn.lost("Claude Code", end)
    else this.#turn.fail(failure)
    return [...outputs, ...this.#turn.take()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason, updatedInput }) => {
    const input = this.#asked.get(key)
    if (input === undefined) return undefined
    this.#asked.delete(key)
    return controlResponse(
      key,
      decision === "allow"
        ? { behavior: "allow", updatedInput: updatedInput ?? input }
        : {
            behavior: "deny",
            message: reason ?? "This was not allowed. Go on without it.",
            interrupt: decision === "cancel"
          }
    )
  }

  readonly input: Protocol["input"] = (text) => {
    if (this.#turn.over) return undefined
    this.#queued.push(text)
    return ""
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#turn.cancel()
    this.#queued.length = 0
    return controlRequest("interrupt", "interrupt")
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#turn.read(lines, (said) => this.#said(said))
  }

  #said(said: JsonObject): void {
    switch (said["type"]) {
      case "stream_event":
        return this.#streamed(said)
      case "assistant":
        return this.#assistant(said)
      case "user":
        return this.#user(said)
      case "system":
        return this.#system(said)
      case "control_request":
        return this.#asks(said)
      case "control_cancel_request":
        return this.#withdraws(said)
      case "control_response":
        return
      case "result":
        return this.#result(said)
      default:
        return this.#unknown(said["type"])
    }
  }

  #unknown(what: unknown): void {
    this.#turn.unknown(textOf(what) ?? "untyped")
  }

  /** The hot path: most lines of a run are deltas. */
  #streamed(said: JsonObject): void {
    const event = objectOf(said["event"])
    const parent = textOf(said["parent_tool_use_id"])
    if (event["type"] !== "content_block_delta") return this.#framed(event, parent)
    const delta = objectOf(event["delta"])
    const [channel, text] =
      delta["type"] === "text_delta"
        ? (["text", delta["text"]] as const)
        : delta["type"] === "thinking_delta"
          ? (["reasoning", delta["thinking"]] as const)
          : (["text", undefined] as const)
    if (typeof text !== "string" || text === "") return
    const messageId = this.#messages.ofDelta(event, parent ?? "")
    this.#turn.say(
      draft(
        "run.message.delta",
        parent === undefined
          ? { messageId, channel, text }
          : { messageId, channel, text, parentCallId: parent }
      )
    )
  }

  #framed(event: JsonObject, parent: string | undefined): void {
    this.#messages.follow(event, parent ?? "")
    const spent = this.#spending.follow(event, parent !== undefined)
    if (spent !== undefined) this.#turn.emit({ _tag: "Usage", usage: addUsage(this.#usage, spent) })
  }

  #assistant(said: JsonObject): void {
    const message = objectOf(said["message"])
    const error = textOf(said["error"])
    if (error !== undefined || message["model"] === "<synthetic>") {
      // Words of the program, not of the model: they tell why the result will be an error.
      this.#lastError = textOf(said["api_error"]) ?? error
      return
    }
    this.#lastError = undefined
    const parent = textOf(said["parent_tool_use_id"])
    for (const block of arrayOf(message["content"]).filter(isObject)) {
      const messageId = this.#messages.ofBlock(textOf(message["id"]) ?? "message", parent ?? "")
      this.#block(block, messageId, parent)
    }
  }

  #block(block: JsonObject, messageId: string, parent: string | undefined): void {
    const parentCallId = parent === undefined ? {} : { parentCallId: parent }
    const whole = (channel: "text" | "reasoning", text: string) =>
      this.#turn.say(
        draft("run.message.completed", { messageId, role: "assistant", channel, text, ...parentCallId })
      )
    switch (block["type"]) {
      case "text":
        return whole("text", textOf(block["text"]) ?? "")
      case "thinking":
        return whole("reasoning", textOf(block["thinking"]) ?? "")
      case "redacted_thinking":
        return
      case "tool_use": {
        const [callId, tool] = [textOf(block["id"]), textOf(block["name"])]
        if (callId === undefined || tool === undefined) return this.#unknown("tool_use")
        const input = objectOf(block["input"])
        return this.#turn.call({
          callId,
          tool,
          label: labelOf(tool, input, this.#relative),
          input,
          ...parentCallId
        })
      }
      default:
        return this.#unknown(block["type"])
    }
  }

  #user(said: JsonObject): void {
    const metas = arrayOf(said["tool_result_meta"]).filter(isObject)
    for (const block of arrayOf(objectOf(said["message"])["content"]).filter(isObject)) {
      // Text here is ours or a notice like "interrupted": the result says it better.
      if (block["type"] !== "tool_result") continue
      const callId = textOf(block["tool_use_id"])
      const tool = callId === undefined ? undefined : this.#turn.toolOf(callId)
      if (callId === undefined || tool === undefined) {
        this.#unknown("tool_result")
        continue
      }
      const failed = block["is_error"] === true
      const output = outputOf(block["content"])
      if (!failed) {
        for (const event of filesOf(tool, said["tool_use_result"], callId, this.#relative))
          this.#turn.say(event)
      }
      const exitCode = failed && tool === "Bash" ? exitCodeOf(output) : undefined
      const status = statusOf(failed, metas.find((meta) => meta["id"] === callId) ?? {})
      this.#turn.result({ callId, status, ...defined({ output, exitCode }) })
    }
  }

  #system(said: JsonObject): void {
    switch (said["subtype"]) {
      case "init":
        return this.#init(said)
      case "api_retry":
        this.#lastError = textOf(said["error"])
        this.#turn.say(
          retrying({
            attempt: said["attempt"],
            maxAttempts: said["max_retries"],
            delayMs: said["retry_delay_ms"],
            failure: failureOfCall(countOf(said["error_status"]), this.#lastError)
          })
        )
        return
      // Signs of life, and a refusal that the tool's result tells again.
      case "status":
      case "thinking_tokens":
      case "permission_denied":
        return
      default:
        return this.#unknown(`system/${textOf(said["subtype"]) ?? ""}`)
    }
  }

  /** Printed once a turn; the first one starts the run. */
  #init(said: JsonObject): void {
    this.#noCredentials = said["apiKeySource"] === "none"
    const cwd = textOf(said["cwd"])
    if (cwd !== undefined && cwd !== "" && cwd !== this.#workspacePath)
      this.#relative = relativeTo(this.#workspacePath, cwd)
    this.#turn.start(
      defined({
        runtimeSessionId: sessionIdOf(said["session_id"]),
        runtimeVersion: textOf(said["claude_code_version"]),
        model: textOf(said["model"]),
        mode: textOf(said["permissionMode"])
      })
    )
  }

  #asks(said: JsonObject): void {
    const key = textOf(said["request_id"])
    const request = objectOf(said["request"])
    const subtype = textOf(request["subtype"])
    if (key === undefined || subtype === undefined) return this.#unknown("control_request")
    if (subtype === "can_use_tool") {
      if (this.#turn.ask(key, approvalOf(request, this.#relative)))
        this.#asked.set(key, objectOf(request["input"]))
      return
    }
    // A question that nobody here can answer: said so, or it would wait for ever.
    this.#unknown(`control_request/${subtype}`)
    this.#turn.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #withdraws(said: JsonObject): void {
    const key = textOf(said["request_id"])
    const withdrawn = key !== undefined && this.#turn.withdraw(key, "the runtime no longer waits for it")
    if (withdrawn) this.#asked.delete(key)
    else this.#unknown("control_cancel_request")
  }

  #result(said: JsonObject): void {
    const { costUsd, ...tokens } = addUsage(this.#usage, usageOf(said))
    // A resumed conversation's cost counts the runs before this one, and nothing tells them apart.
    const usage: Usage = costUsd === undefined || this.#resumed ? tokens : { ...tokens, costUsd }
    this.#usage = usage
    this.#spending.reset()
    const next = said["is_error"] === true ? undefined : this.#queued.shift()
    if (next !== undefined) return this.#turn.emit({ _tag: "Reply", text: userMessage(next) })
    this.#turn.conclude(
      outcomeOf(said, usage, {
        noCredentials: this.#noCredentials,
        lastError: this.#lastError,
        cancelling: this.#cancelling
      })
    )
  }
}
