/**
 * Reports of an agent, the `session/update` notifications: messages, tool calls, steps, notices, background work, usage.
 *
 * Emits their events, and keeps the turn's progress for `toAcpOutcome`. Reports of sub-agents have events of their own call and do not change
 * the progress.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import type * as Acp from "@agentclientprotocol/sdk"
import type { Usage } from "@corral/domain/run/Run"
import { toCodexRetry } from "../codex/CodexFailure.ts"
import { type JsonObject, objectOf, textOf } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import {
  type AsyncTask,
  MAX_UNKNOWN_NAME,
  type PromptResponse,
  type StatusMeta,
  type SubAgent,
  type UnverifiedFields,
  isUpdateKind,
  parentCallIn
} from "./AcpSchema.ts"
import { type PromptProgress, TurnProgress } from "./AcpOutcome.ts"
import { AcpMessages, ChunkReports } from "./AcpMessages.ts"
import { AcpUsage } from "./AcpUsage.ts"
import { type AcpWork, AgentSessions } from "./AcpWork.ts"
import { readBlock } from "../output/ContentBlocks.ts"
import { PlanFile, stepsIn } from "./AgentPlans.ts"
import type { ToolCall } from "./ToolCall.ts"
import { ToolCalls } from "./ToolCalls.ts"
import type { Step } from "@corral/domain/run/Work"
import { stepsOfList } from "../output/StepLists.ts"
import type { PayloadOf } from "@corral/domain/run/RunEvent"

// Notices of an agent for people: its own, and the compaction of its conversation.

type Notice = Pick<PayloadOf<"run.notice">, "kind" | "text">

const readNotice = ({ description, severity, title }: UnverifiedFields<Acp.Notice>): Notice | undefined => {
  const text = [textOf(title), textOf(description)]
    .filter((part) => part !== undefined && part !== "")
    .join("\n")
  if (text === "") return undefined
  return { kind: severity === "warning" || severity === "error" ? "warning" : "other", text }
}

/** Only the end of a compaction is of interest. */
const readCompaction = ({ error, status }: UnverifiedFields<Acp.CompactionUpdate>): Notice | undefined => {
  if (status === "completed") return { kind: "compacted", text: "The conversation was compacted." }
  if (status !== "failed") return undefined
  const reason = textOf(error) ?? ""
  const text = "The conversation could not be compacted."
  return { kind: "warning", text: reason === "" ? text : `${text}\n${reason}` }
}

// Steps of an agent, from its `plan` updates. Each update has the whole list.

/** Steps in the order of the list. */
const stepsOf = ({ entries }: UnverifiedFields<Acp.Plan>): ReadonlyArray<Step> =>
  stepsOfList(entries, "content")

type SessionUpdate = UnverifiedFields<Acp.SessionUpdate & AsyncTask & SubAgent>

/** Whether an update only completes what a call is, and shows nothing of its progress: the agent may be writing meanwhile. */
const isOnlyMeta = (update: SessionUpdate): boolean => {
  for (const field in update) if (!META_FIELDS.has(field)) return false
  return update.sessionUpdate === "tool_call_update"
}
const META_FIELDS = new Set(["sessionUpdate", "toolCallId", "name", "_meta"])

export class SessionUpdates {
  /** The plan that the agent has written into a file. */
  readonly planFile = new PlanFile()
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  readonly #messages: AcpMessages
  readonly #calls: ToolCalls
  readonly #usage: AcpUsage
  readonly #work: AcpWork
  readonly #agentSessions: AgentSessions
  readonly #progress = new TurnProgress()
  readonly #chunks: ChunkReports
  /** The last report about a background task. */
  #lastReport = ""

  constructor(
    collector: OutputCollector,
    agent: AcpAgent,
    relative: Relative,
    isResumed: boolean,
    work: AcpWork
  ) {
    this.#collector = collector
    this.#agent = agent
    this.#messages = new AcpMessages(collector, agent)
    this.#calls = new ToolCalls(collector, agent, relative)
    this.#usage = new AcpUsage(agent, isResumed)
    this.#work = work
    this.#agentSessions = new AgentSessions(collector)
    this.#chunks = new ChunkReports({
      collector,
      messages: this.#messages,
      calls: this.#calls,
      usage: this.#usage,
      progress: this.#progress
    })
  }

  /** Progress of this turn, complete once the turn is closed. */
  get progress(): PromptProgress {
    const { lastText, lastSingleChunk } = this.#messages
    const { failure, hasAnswered, hasCalled } = this.#progress
    return {
      text: lastText,
      singleChunk: lastSingleChunk,
      failure,
      hasCalled,
      hasAnswered: hasAnswered || this.#calls.isAnyOpen
    }
  }

  /** Whether the agent has sent neither text nor a tool call since a permission was denied. */
  get stoppedAtDenial(): boolean {
    return this.#progress.stoppedAtDenial
  }

  get usage(): Usage | undefined {
    return this.#usage.usage
  }

  /** Starts a turn: its prompt is sent. */
  beginTurn(): void {
    this.#progress.begin()
    this.#messages.beginTurn()
  }

  /** Reads the response to the prompt. Reports of its turn may follow, the end of its last message too. */
  readResponse(response: UnverifiedFields<PromptResponse>): void {
    this.#chunks.report(this.#usage.endTurn(response))
    this.#calls.openAll()
  }

  /** Closes messages and denied calls of the turn. */
  close(): void {
    this.#messages.closeAll()
    this.#calls.openAll()
    this.#calls.closeDenied()
  }

  /** Ends the turn, whose outcome follows. Calls of sub-agents and of background work continue. */
  endTurn(isCompleted: boolean): void {
    this.#calls.endTurn(isCompleted, (callId) => this.#work.isCall(callId))
  }

  /** The call that a permission is requested for. */
  requestPermission(toolCall: UnverifiedFields<Acp.ToolCallUpdate>): ToolCall | undefined {
    const callId = textOf(toolCall.toolCallId)
    if (callId !== undefined) this.#usage.countToolCall(callId)
    const parentCallId = parentCallIn(toolCall._meta) ?? this.#calls.parentOf(callId)
    this.#beginCall(parentCallId)
    if (parentCallId === undefined) this.#progress.proceed()
    return this.#calls.requestPermission(toolCall)
  }

  /** The call of the sub-agent whose session it is; `undefined` for the agent's own. */
  callOfSession(sessionId: unknown): string | undefined {
    return this.#agentSessions.callOf(sessionId)
  }

  /** The input of an open call. */
  inputOf(callId: string | undefined): JsonObject {
    return this.#calls.inputOf(callId)
  }

  /** The call of the sub-agent that made a call. */
  parentOf(callId: string | undefined): string | undefined {
    return this.#calls.parentOf(callId)
  }

  /** Records that a cancel was sent. */
  cancel(): void {
    this.#calls.cancel()
  }

  /** Records that the permission for a call was given. */
  allow(callId: string): void {
    this.#calls.allow(callId)
  }

  /** Records that the permission for a call was denied. */
  deny(callId: string): void {
    if (this.#calls.parentOf(callId) === undefined) this.#progress.deny()
    this.#calls.deny(callId)
  }

  /** Records that a person did not answer what a call asks. */
  leaveUnanswered(callId: string): void {
    this.#calls.deny(callId)
  }

  /**
   * Reads any report. `isPrompted`: a prompt is in progress. Before the first one there is only text of the program, and the old messages
   * of a loaded session. `mode` is the mode that the session was set to.
   */
  read(update: SessionUpdate, isPrompted: boolean, mode: string | undefined): void {
    const kind = update.sessionUpdate
    if (!isUpdateKind(kind)) return this.#readExtension(textOf(kind) ?? "untyped", update)
    switch (kind) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        if (update._meta !== undefined && this.#work.readMeta(update._meta))
          return this.#readReport(update.content)
        return isPrompted ? this.#chunks.read(kind, update) : undefined
      case "tool_call":
      case "tool_call_update":
        // Calls of background work report between turns too.
        return isPrompted || this.#calls.isOpen(textOf(update.toolCallId))
          ? this.#readCall(update)
          : undefined
      case "usage_update":
        this.#calls.openAll()
        return isPrompted ? this.#chunks.report(this.#usage.readCost(update)) : undefined
      case "current_mode_update": {
        const current = firstCharacters(textOf(update.currentModeId) ?? "", MAX_UNKNOWN_NAME)
        if (isPrompted && current !== mode)
          this.#collector.notice("warning", `${this.#agent.label} changed its mode to ${current}.`)
        return
      }
      case "session_info_update":
        return isPrompted ? this.#readStatus(objectOf(update._meta)) : undefined
      // They have no event.
      case "available_commands_update":
      case "config_option_update":
      case "user_message_chunk":
      case "compaction_summary_chunk":
        return
      case "plan":
        return isPrompted ? this.#collector.steps(stepsOf(update), parentCallIn(update._meta)) : undefined
      case "notice":
      case "compaction_update":
        return this.#readNotice(update)
      default:
        return kind satisfies never
    }
  }

  /** Reads the start or the end of a sub-agent with its own session. Returns false for any other update. */
  readSubAgent(update: SessionUpdate): boolean {
    switch (update.sessionUpdate as unknown) {
      case "subagent_spawned": {
        const parentCallId = parentCallIn(update._meta)
        this.#messages.close(parentCallId)
        this.#agentSessions.start(update, parentCallId)
        return true
      }
      case "subagent_state_update":
      case "subagent_finished":
        this.#messages.close(this.#agentSessions.callOf(update.subagentSessionId ?? update.child_session_id))
        this.#agentSessions.end(update)
        return true
      default:
        return false
    }
  }

  #readExtension(kind: string, update: SessionUpdate): void {
    const isOwn = this.#agent.ownUpdates?.includes(kind) === true
    if (!isOwn && !this.readSubAgent(update) && !this.#work.read(kind, update)) this.#countUnknown(kind)
  }

  /** Reads the agent's report about a background task. It may be repeated. */
  #readReport(content: unknown): void {
    const shown = readBlock(content)
    if (shown === undefined || !("text" in shown) || shown.text === "" || shown.text === this.#lastReport)
      return
    this.#lastReport = shown.text
    this.#collector.notice("other", shown.text)
  }

  #readNotice(update: SessionUpdate): void {
    const notice = update.sessionUpdate === "notice" ? readNotice(update) : readCompaction(update)
    if (notice !== undefined) this.#collector.notice(notice.kind, notice.text)
  }

  #countUnknown(kind: string): void {
    this.#collector.countUnknown(`session/update/${firstCharacters(kind, MAX_UNKNOWN_NAME)}`)
  }

  /** Reads the agent's report about the turn itself. */
  #readStatus(meta: JsonObject): void {
    const { statusKey } = this.#agent
    if (statusKey === undefined) return
    const { error, threadStatus }: UnverifiedFields<StatusMeta> = objectOf(meta[statusKey])
    const { type }: UnverifiedFields<StatusMeta["threadStatus"]> = objectOf(threadStatus)
    if (type === "systemError") this.#progress.failure ??= ""
    else if (type === "active") this.#progress.failure = undefined
    // The error has the same fields as in Codex's own protocol.
    const failure = objectOf(error)
    const { willRetry }: UnverifiedFields<StatusMeta["error"]> = failure
    if (willRetry === true) this.#collector.emitEvent(toCodexRetry(failure))
  }

  /** Ends the open message: text after a tool call is a new message. */
  #beginCall(parentCallId: string | undefined): void {
    this.#messages.close(parentCallId)
    if (parentCallId !== undefined) return
    this.#progress.call()
  }

  #readCall(update: SessionUpdate): void {
    const callId = textOf(update.toolCallId)
    const parentCallId = parentCallIn(update._meta) ?? this.#calls.parentOf(callId)
    if (callId !== undefined) this.#usage.countToolCall(callId)
    if (parentCallId === undefined && update.sessionUpdate === "tool_call") this.#progress.proceed()
    if (!isOnlyMeta(update)) this.#beginCall(parentCallId)
    const call = this.#calls.report(update)
    if (call === undefined)
      return callId === undefined ? this.#collector.countUnknown("tool_call") : undefined
    this.#work.readCall(call)
    this.planFile.readCall(call)
    const steps = stepsIn(call)
    if (steps !== undefined) this.#collector.steps(steps, call.parentCallId)
  }
}
