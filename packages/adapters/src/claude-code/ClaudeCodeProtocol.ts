/**
 * What the lines of Claude Code mean, and how answers go back.
 *
 * A run is over when every message it was given is answered. The runtime may fold a message that comes during a turn into that turn, with
 * one result for both; so further input waits here for the result, and the next turn begins with it: one result for each message.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import { toRetryEvent } from "../output/RetryEvent.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { addUsage, failureOfCall, claudeFailureAtExit, toClaudeOutcome, usageOf } from "./ClaudeOutcome.ts"
import { controlRefusal, controlRequest, controlResponse, userMessage } from "./Frames.ts"
import { ClaudeMessages } from "./ClaudeMessages.ts"
import { parseExitCode, fileEventsOfResult, readResultOutput, statusOf } from "./ToolResult.ts"
import { ClaudeUsage } from "./ClaudeUsage.ts"
import { toClaudeApproval, claudeCallLabel } from "./ToolUse.ts"

/** A conversation id that may stand in a command line: never an option, never a path. */
const sessionIdOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined

export class ClaudeCodeProtocol implements Protocol {
  readonly open: string
  readonly #resumed: boolean
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #messages = new ClaudeMessages()
  readonly #spending = new ClaudeUsage()
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

  readonly step: Protocol["step"] = (chunk) =>
    this.#read(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#read(this.#lines.end())
    const failure = claudeFailureAtExit(end)
    if (failure === undefined) this.#collector.concludeAtExit("Claude Code", end)
    else this.#collector.fail(failure)
    return [...outputs, ...this.#collector.takeOutputs()]
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
    if (this.#collector.isOver) return undefined
    this.#queued.push(text)
    return ""
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    this.#queued.length = 0
    return controlRequest("interrupt", "interrupt")
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#said(said))
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
    this.#collector.countUnknown(textOf(what) ?? "untyped")
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
    this.#collector.emitEvent(
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
    if (spent !== undefined) this.#collector.emit({ _tag: "Usage", usage: addUsage(this.#usage, spent) })
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
    for (const block of arrayOf(message["content"]).filter(isJsonObject)) {
      const messageId = this.#messages.ofBlock(textOf(message["id"]) ?? "message", parent ?? "")
      this.#block(block, messageId, parent)
    }
  }

  #block(block: JsonObject, messageId: string, parent: string | undefined): void {
    const parentCallId = parent === undefined ? {} : { parentCallId: parent }
    const whole = (channel: "text" | "reasoning", text: string) =>
      this.#collector.emitEvent(
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
        return this.#collector.openCall({
          callId,
          tool,
          label: claudeCallLabel(tool, input, this.#relative),
          input,
          ...parentCallId
        })
      }
      default:
        return this.#unknown(block["type"])
    }
  }

  #user(said: JsonObject): void {
    const metas = arrayOf(said["tool_result_meta"]).filter(isJsonObject)
    for (const block of arrayOf(objectOf(said["message"])["content"]).filter(isJsonObject)) {
      // Text here is ours or a notice like "interrupted": the result says it better.
      if (block["type"] !== "tool_result") continue
      const callId = textOf(block["tool_use_id"])
      const tool = callId === undefined ? undefined : this.#collector.toolOf(callId)
      if (callId === undefined || tool === undefined) {
        this.#unknown("tool_result")
        continue
      }
      const failed = block["is_error"] === true
      const output = readResultOutput(block["content"])
      if (!failed) {
        for (const event of fileEventsOfResult(tool, said["tool_use_result"], callId, this.#relative))
          this.#collector.emitEvent(event)
      }
      const exitCode = failed && tool === "Bash" ? parseExitCode(output) : undefined
      const status = statusOf(failed, metas.find((meta) => meta["id"] === callId) ?? {})
      this.#collector.closeCall({ callId, status, ...defined({ output, exitCode }) })
    }
  }

  #system(said: JsonObject): void {
    switch (said["subtype"]) {
      case "init":
        return this.#init(said)
      case "api_retry":
        this.#lastError = textOf(said["error"])
        this.#collector.emitEvent(
          toRetryEvent({
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
    this.#collector.start(
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
      if (this.#collector.requestApproval(key, toClaudeApproval(request, this.#relative)))
        this.#asked.set(key, objectOf(request["input"]))
      return
    }
    // No answer is possible here. Without a refusal the runtime would wait for ever.
    this.#unknown(`control_request/${subtype}`)
    this.#collector.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #withdraws(said: JsonObject): void {
    const key = textOf(said["request_id"])
    const withdrawn =
      key !== undefined && this.#collector.withdrawApproval(key, "the runtime no longer waits for it")
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
    if (next !== undefined) return this.#collector.emit({ _tag: "Reply", text: userMessage(next) })
    this.#collector.conclude(
      toClaudeOutcome(said, usage, {
        noCredentials: this.#noCredentials,
        lastError: this.#lastError,
        cancelling: this.#cancelling
      })
    )
  }
}
