/**
 * One run's conversation with Claude Code: the meaning of its lines, and the lines that it reads.
 *
 * Each `init` starts a turn, and each `result` ends one. `ClaudeTurns` decides what follows: a message that waits, a turn for work that ended in
 * the background, or the outcome of the run.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart, UsageReport } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import { titleLine } from "../text/FirstLine.ts"
import { toRetryEvent } from "../output/ServiceFailure.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { BackgroundTasks, ClaudeTimers } from "./ClaudeWork.ts"
import { ClaudeCalls } from "./ClaudeCalls.ts"
import { declined } from "../form/Elicitation.ts"
import { ClaudeInputs } from "./ClaudeInputs.ts"
import { ClaudeMessages } from "./ClaudeMessages.ts"
import {
  commandOutput,
  noticeOfRateLimit,
  noticeOfSystem,
  silentTypes,
  type Notice
} from "./ClaudeNotices.ts"
import { ClaudeTurns, claudeFailureAtExit, failureOfCall, toClaudeOutcome } from "./ClaudeTurns.ts"
import { controlRefusal, controlRequest, controlResponse, readLostLine, userMessage } from "./Frames.ts"
import { ClaudeUsage } from "./ClaudeUsage.ts"
import { toClaudeApproval } from "./ToolUse.ts"

/** A conversation id that is safe in a command line: not an option and not a path. */
const sessionIdOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value) ? value : undefined

/** Id of the work of a goal that the program follows by itself. */
const GOAL = "goal"

export class ClaudeCodeProtocol implements Protocol {
  readonly open: string
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #messages = new ClaudeMessages()
  readonly #tasks = new BackgroundTasks(this.#collector)
  readonly #timers = new ClaudeTimers(this.#collector)
  readonly #inputs = new ClaudeInputs(this.#collector)
  readonly #calls = new ClaudeCalls(this.#collector, this.#inputs, this.#timers)
  readonly #turns = new ClaudeTurns(
    this.#collector,
    () => this.#tasks.isWorking || this.#collector.hasOutstandingWork
  )
  readonly #usage: ClaudeUsage
  readonly #workspacePath: string
  /** Removes the workspace from paths, also under the name that the runtime uses for it. */
  #relative: Relative
  /** Tool inputs of the waiting approvals, by request id. */
  readonly #waitingInputs = new Map<string, JsonObject>()
  #hasNoCredentials = false
  #lastError: string | undefined
  /** Text of the last result that has one. */
  #lastText: string | undefined
  #cancelling = false

  constructor(start: RunStart) {
    this.#workspacePath = start.workspacePath
    this.#relative = relativeTo(start.workspacePath)
    this.#usage = new ClaudeUsage(start.resumeSessionId !== undefined)
    this.open = controlRequest("initialize", "initialize") + userMessage(start.prompt, start.images)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    this.#tasks.startListed()
    this.#turns.endProgram()
    const failure = this.#collector.isIdle ? undefined : claudeFailureAtExit(end)
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

  readonly respond: Protocol["respond"] = (key, response) => this.#inputs.respond(key, response)

  readonly input: Protocol["input"] = (text) =>
    this.#collector.isOver || this.#cancelling ? undefined : this.#turns.add(text)

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    this.#turns.dropQueued()
    return controlRequest("interrupt", "interrupt")
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(
      lines,
      (line) => this.#readLine(line),
      (head) => this.#readLost(head)
    )
  }

  #readLost(head: JsonObject): void {
    readLostLine(head, {
      reply: (text) => this.#collector.emit({ _tag: "Reply", text }),
      open: (call, parentCallId) => this.#calls.open(call, parentCallId, this.#relative),
      close: (callId) => this.#calls.closeLost(callId),
      result: (line) => this.#readResult(line),
      // An incomplete list of tasks would end those that it lacks.
      system: (line) => {
        if (line["subtype"] !== "background_tasks_changed") this.#readSystem(line)
      }
    })
  }

  #readLine(line: JsonObject): void {
    const type = line["type"]
    if (type === "stream_event") return this.#readDelta(line)
    // The line after a list of tasks has the call of its newest task.
    if (line["subtype"] !== "task_started") this.#tasks.startListed()
    switch (type) {
      case "assistant":
        return this.#readAssistant(line)
      case "user":
        return this.#readUser(line)
      case "system":
        return this.#readSystem(line)
      case "control_request":
        return this.#readRequest(line)
      case "control_cancel_request":
        return this.#withdrawRequest(line)
      case "result":
        return this.#readResult(line)
      case "control_response":
        // That to `initialize` has the account.
        return this.#usage.readAccount(objectOf(objectOf(line["response"])["response"])["account"])
      case "rate_limit_event":
        return this.#emitNotice(noticeOfRateLimit(line))
      case "conversation_reset":
        return this.#emitNotice({ kind: "other", text: "The conversation was cleared." })
      case "command_lifecycle":
        return this.#readLifecycle(line)
      case "active_goal":
        return this.#readGoal(line["value"])
      default:
        if (!silentTypes.has(type)) this.#countUnknown(type)
    }
  }

  #readLifecycle({ state, wakeup_source: source }: JsonObject): void {
    if (state === "started" && typeof source === "string")
      this.#timers.fire(source === "loop_wakeup" ? "wakeup" : "job")
  }

  #emitNotice(notice: Notice | undefined): void {
    if (notice !== undefined) this.#collector.notice(notice.kind, notice.text, defined({ data: notice.data }))
  }

  #readGoal(goal: unknown): void {
    const title = textOf(objectOf(goal)["condition"])
    if (title === undefined) this.#collector.endWork(GOAL, "completed")
    else this.#collector.startWork({ id: GOAL, kind: "goal", title: titleLine(title) })
  }

  #countUnknown(what: unknown): void {
    this.#collector.countUnknown(textOf(what) ?? "untyped")
  }

  /** The hot path: most lines of a run are deltas. */
  #readDelta(line: JsonObject): void {
    const event = objectOf(line["event"])
    const parent = textOf(line["parent_tool_use_id"])
    if (event["type"] !== "content_block_delta") return this.#readFrame(line, event, parent)
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

  #readFrame(line: JsonObject, event: JsonObject, parent: string | undefined): void {
    this.#messages.follow(event, parent ?? "")
    // The stream broke, and another message takes the place of this one.
    const abandoned = textOf(objectOf(line["abandoned_blocks"])["api_message_id"])
    if (abandoned !== undefined) this.#collector.closeMessages(`${abandoned}:`)
    this.#report(this.#usage.followFrame(event, parent))
  }

  #report(report: UsageReport | undefined): void {
    if (report !== undefined) this.#collector.emit({ _tag: "Usage", ...report })
  }

  #readAssistant(line: JsonObject): void {
    const message = objectOf(line["message"])
    const error = textOf(line["error"])
    if (error !== undefined) {
      // Text of the program, not of the model: it says why the result will be an error.
      this.#lastError = textOf(line["api_error"]) ?? error
      return
    }
    this.#lastError = undefined
    const parent = textOf(line["parent_tool_use_id"])
    this.#tasks.addCall(textOf(line["agent_id"]), parent)
    if (parent !== undefined) this.#report(this.#usage.followChild(message))
    for (const block of arrayOf(message["content"]).filter(isJsonObject)) {
      const messageId = this.#messages.ofBlock(textOf(message["id"]) ?? "message", parent ?? "")
      this.#readBlock(block, messageId, parent)
    }
  }

  #readBlock(block: JsonObject, messageId: string, parentCallId: string | undefined): void {
    const emitMessage = (channel: "text" | "reasoning", text: unknown) =>
      this.#collector.emitEvent(
        draft("run.message.completed", {
          messageId,
          role: "assistant",
          channel,
          text: textOf(text) ?? "",
          ...defined({ parentCallId })
        })
      )
    switch (block["type"]) {
      case "text":
        return emitMessage("text", block["text"])
      case "thinking":
        return emitMessage("reasoning", block["thinking"])
      case "redacted_thinking":
        return
      case "tool_use":
        if (!this.#calls.open(block, parentCallId, this.#relative)) this.#countUnknown("tool_use")
        return
      default:
        return this.#countUnknown(block["type"])
    }
  }

  #readUser(line: JsonObject): void {
    const { content } = objectOf(line["message"])
    const output = typeof content === "string" ? commandOutput(content) : undefined
    if (output !== undefined && output !== "") this.#collector.notice("other", output)
    for (const block of arrayOf(content).filter(isJsonObject)) {
      // Text is ours or a notice like "interrupted", which the result also reports.
      if (block["type"] !== "tool_result") continue
      if (!this.#calls.close(block, line, this.#relative)) this.#countUnknown("tool_result")
    }
  }

  #readSystem(line: JsonObject): void {
    if (this.#tasks.read(line, this.#turns.startsTurnForWork)) return
    switch (line["subtype"]) {
      case "init":
        return this.#readInit(line)
      case "session_state_changed":
        return this.#turns.readState(line["state"])
      case "elicitation_complete":
        return this.#inputs.closeLink(textOf(line["elicitation_id"]))
      case "api_retry":
        return this.#readRetry(line)
    }
    const notice = noticeOfSystem(line)
    if (notice === "unknown") this.#countUnknown(`system/${textOf(line["subtype"]) ?? ""}`)
    else this.#emitNotice(notice)
  }

  #readRetry(line: JsonObject): void {
    this.#lastError = textOf(line["error"])
    this.#collector.emitEvent(
      toRetryEvent({
        attempt: line["attempt"],
        maxAttempts: line["max_retries"],
        delayMs: line["retry_delay_ms"],
        failure: failureOfCall(countOf(line["error_status"]), this.#lastError)
      })
    )
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
    this.#turns.start()
  }

  #readRequest(line: JsonObject): void {
    const key = textOf(line["request_id"])
    const request = objectOf(line["request"])
    const subtype = textOf(request["subtype"])
    if (key === undefined || subtype === undefined) return this.#countUnknown("control_request")
    if (subtype === "can_use_tool") return this.#readPermission(key, request)
    if (subtype === "elicitation") {
      if (this.#inputs.readElicitation(key, request)) return
      this.#collector.notice(
        "warning",
        "A tool asked for input in a form that cannot be shown. It was declined."
      )
      return this.#collector.emit({ _tag: "Reply", text: controlResponse(key, declined) })
    }
    // The runtime would wait forever without a response.
    this.#countUnknown(`control_request/${subtype}`)
    this.#collector.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #readPermission(key: string, request: JsonObject): void {
    const callId = textOf(request["tool_use_id"])
    const parentCallId = this.#tasks.callOf(textOf(request["agent_id"]) ?? "")
    const call = defined({ callId, parentCallId })
    if (this.#inputs.readPermission(key, request, this.#calls.inputOf(callId), call)) return
    if (this.#collector.requestApproval(key, toClaudeApproval(request, this.#relative, parentCallId)))
      this.#waitingInputs.set(key, objectOf(request["input"]))
  }

  #withdrawRequest(line: JsonObject): void {
    const key = textOf(line["request_id"]) ?? ""
    if (this.#collector.withdrawApproval(key, "the runtime no longer waits for it"))
      this.#waitingInputs.delete(key)
    else if (!this.#inputs.withdraw(key)) this.#countUnknown("control_cancel_request")
  }

  #readResult(line: JsonObject): void {
    const report = this.#usage.endTurn(line)
    this.#report(report)
    const isOfTask = objectOf(line["origin"])["kind"] === "task-notification"
    const isSilent = isOfTask && line["num_turns"] === 0 && line["is_error"] !== true
    const text = isSilent ? this.#lastText : textOf(line["result"])
    this.#lastText = text ?? this.#lastText
    const outcome = toClaudeOutcome({ ...line, result: text }, report.usage, {
      hasNoCredentials: this.#hasNoCredentials,
      lastError: this.#lastError,
      isCancelling: this.#cancelling
    })
    this.#turns.end(outcome, countOf(line["queued_turn_count"]) ?? 0, isSilent)
  }
}
