/**
 * One run's conversation with Claude Code: the meaning of its lines, and the lines that it reads.
 *
 * A run ends when every user message has a result. The runtime may merge a message into the turn in progress, with one result for both. So
 * further messages wait for the result and start the next turn: one result per message.
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

/** A conversation id that is safe in a command line: not an option and not a path. */
const sessionIdOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined

export class ClaudeCodeProtocol implements Protocol {
  readonly open: string
  readonly #isResumed: boolean
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #messages = new ClaudeMessages()
  readonly #turnUsage = new ClaudeUsage()
  readonly #workspacePath: string
  /** Removes the workspace from paths, also under the name that the runtime uses for it. */
  #relative: Relative
  /** Tool inputs of the waiting approvals, by request id. */
  readonly #waitingInputs = new Map<string, JsonObject>()
  /** User messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  #hasNoCredentials = false
  #lastError: string | undefined
  #cancelling = false
  #usage: Usage | undefined

  constructor(start: RunStart) {
    this.#workspacePath = start.workspacePath
    this.#relative = relativeTo(start.workspacePath)
    this.#isResumed = start.resumeSessionId !== undefined
    this.open = controlRequest("initialize", "initialize") + userMessage(start.prompt, start.images)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const failure = claudeFailureAtExit(end)
    if (failure === undefined) this.#collector.concludeAtExit("Claude Code", end)
    else this.#collector.fail(failure)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason, updatedInput }) => {
    const input = this.#waitingInputs.get(key)
    if (input === undefined) return undefined
    this.#waitingInputs.delete(key)
    return controlResponse(
      key,
      decision === "allow"
        ? { behavior: "allow", updatedInput: updatedInput ?? input }
        : {
            behavior: "deny",
            message: reason ?? "This was not allowed. Continue without it.",
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

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (line) => this.#readLine(line))
  }

  #readLine(line: JsonObject): void {
    switch (line["type"]) {
      case "stream_event":
        return this.#readDelta(line)
      case "assistant":
        return this.#readAssistant(line)
      case "user":
        return this.#readUser(line)
      case "system":
        return this.#readSystem(line)
      case "control_request":
        return this.#readRequest(line)
      case "control_cancel_request":
        return this.#withdrawApproval(line)
      case "control_response":
        return
      case "result":
        return this.#readResult(line)
      default:
        return this.#countUnknown(line["type"])
    }
  }

  #countUnknown(what: unknown): void {
    this.#collector.countUnknown(textOf(what) ?? "untyped")
  }

  /** The hot path: most lines of a run are deltas. */
  #readDelta(line: JsonObject): void {
    const event = objectOf(line["event"])
    const parent = textOf(line["parent_tool_use_id"])
    if (event["type"] !== "content_block_delta") return this.#readFrame(event, parent)
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

  #readFrame(event: JsonObject, parent: string | undefined): void {
    this.#messages.follow(event, parent ?? "")
    const usage = this.#turnUsage.follow(event, parent !== undefined)
    if (usage !== undefined) this.#collector.emit({ _tag: "Usage", usage: addUsage(this.#usage, usage) })
  }

  #readAssistant(line: JsonObject): void {
    const message = objectOf(line["message"])
    const error = textOf(line["error"])
    if (error !== undefined || message["model"] === "<synthetic>") {
      // Text of the program, not of the model: it says why the result will be an error.
      this.#lastError = textOf(line["api_error"]) ?? error
      return
    }
    this.#lastError = undefined
    const parent = textOf(line["parent_tool_use_id"])
    for (const block of arrayOf(message["content"]).filter(isJsonObject)) {
      const messageId = this.#messages.ofBlock(textOf(message["id"]) ?? "message", parent ?? "")
      this.#readBlock(block, messageId, parent)
    }
  }

  #readBlock(block: JsonObject, messageId: string, parent: string | undefined): void {
    const parentCallId = parent === undefined ? {} : { parentCallId: parent }
    const emitMessage = (channel: "text" | "reasoning", text: string) =>
      this.#collector.emitEvent(
        draft("run.message.completed", { messageId, role: "assistant", channel, text, ...parentCallId })
      )
    switch (block["type"]) {
      case "text":
        return emitMessage("text", textOf(block["text"]) ?? "")
      case "thinking":
        return emitMessage("reasoning", textOf(block["thinking"]) ?? "")
      case "redacted_thinking":
        return
      case "tool_use": {
        const [callId, tool] = [textOf(block["id"]), textOf(block["name"])]
        if (callId === undefined || tool === undefined) return this.#countUnknown("tool_use")
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
        return this.#countUnknown(block["type"])
    }
  }

  #readUser(line: JsonObject): void {
    const metas = arrayOf(line["tool_result_meta"]).filter(isJsonObject)
    for (const block of arrayOf(objectOf(line["message"])["content"]).filter(isJsonObject)) {
      // Text is ours or a notice like "interrupted", which the result also reports.
      if (block["type"] !== "tool_result") continue
      const callId = textOf(block["tool_use_id"])
      const tool = callId === undefined ? undefined : this.#collector.toolOf(callId)
      if (callId === undefined || tool === undefined) {
        this.#countUnknown("tool_result")
        continue
      }
      const isFailed = block["is_error"] === true
      const output = readResultOutput(block["content"])
      if (!isFailed) {
        for (const event of fileEventsOfResult(tool, line["tool_use_result"], callId, this.#relative))
          this.#collector.emitEvent(event)
      }
      const exitCode = isFailed && tool === "Bash" ? parseExitCode(output) : undefined
      const status = statusOf(isFailed, metas.find((meta) => meta["id"] === callId) ?? {})
      this.#collector.closeCall({ callId, status, ...defined({ output, exitCode }) })
    }
  }

  #readSystem(line: JsonObject): void {
    switch (line["subtype"]) {
      case "init":
        return this.#readInit(line)
      case "api_retry":
        this.#lastError = textOf(line["error"])
        this.#collector.emitEvent(
          toRetryEvent({
            attempt: line["attempt"],
            maxAttempts: line["max_retries"],
            delayMs: line["retry_delay_ms"],
            failure: failureOfCall(countOf(line["error_status"]), this.#lastError)
          })
        )
        return
      // Progress, and a denial that the tool's result repeats.
      case "status":
      case "thinking_tokens":
      case "permission_denied":
        return
      default:
        return this.#countUnknown(`system/${textOf(line["subtype"]) ?? ""}`)
    }
  }

  /** Reads `init`, which is printed once per turn. The first one starts the run. */
  #readInit(line: JsonObject): void {
    this.#hasNoCredentials = line["apiKeySource"] === "none"
    const cwd = textOf(line["cwd"])
    if (cwd !== undefined && cwd !== "" && cwd !== this.#workspacePath)
      this.#relative = relativeTo(this.#workspacePath, cwd)
    this.#collector.start(
      defined({
        runtimeSessionId: sessionIdOf(line["session_id"]),
        runtimeVersion: textOf(line["claude_code_version"]),
        model: textOf(line["model"]),
        mode: textOf(line["permissionMode"])
      })
    )
  }

  #readRequest(line: JsonObject): void {
    const key = textOf(line["request_id"])
    const request = objectOf(line["request"])
    const subtype = textOf(request["subtype"])
    if (key === undefined || subtype === undefined) return this.#countUnknown("control_request")
    if (subtype === "can_use_tool") {
      if (this.#collector.requestApproval(key, toClaudeApproval(request, this.#relative)))
        this.#waitingInputs.set(key, objectOf(request["input"]))
      return
    }
    // The runtime would wait forever without a response.
    this.#countUnknown(`control_request/${subtype}`)
    this.#collector.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #withdrawApproval(line: JsonObject): void {
    const key = textOf(line["request_id"])
    const withdrawn =
      key !== undefined && this.#collector.withdrawApproval(key, "the runtime no longer waits for it")
    if (withdrawn) this.#waitingInputs.delete(key)
    else this.#countUnknown("control_cancel_request")
  }

  #readResult(line: JsonObject): void {
    const { costUsd, ...tokens } = addUsage(this.#usage, usageOf(line))
    // The cost of a resumed conversation includes earlier runs, and cannot be separated.
    const usage: Usage = costUsd === undefined || this.#isResumed ? tokens : { ...tokens, costUsd }
    this.#usage = usage
    this.#turnUsage.reset()
    const next = line["is_error"] === true ? undefined : this.#queued.shift()
    if (next !== undefined) return this.#collector.emit({ _tag: "Reply", text: userMessage(next) })
    this.#collector.conclude(
      toClaudeOutcome(line, usage, {
        hasNoCredentials: this.#hasNoCredentials,
        lastError: this.#lastError,
        isCancelling: this.#cancelling
      })
    )
  }
}
