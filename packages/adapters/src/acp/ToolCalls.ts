/**
 * Tool calls of a run: when each call is opened, and which result closes it. Also the one-line label of a call.
 *
 * A call is opened when a report has its subject, when a permission is requested for it, when it ends, or when the agent reports something else.
 * Guarantees: a denied call that the agent never closes is closed here. `OutputCollector` closes any other at the end of the run.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import { type JsonObject, defined, objectOf, textOf } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { filesInCall, filesTouchedBy } from "./Changes.ts"
import {
  type ToolCall,
  type ToolCallReport,
  filesInContent,
  firstReport,
  mergeReport,
  readCallOutput,
  readExitCode,
  readFailedStatus,
  readShellCommand
} from "./ToolCall.ts"
import type { UnverifiedFields } from "./AcpSchema.ts"
import { titleLine } from "../text/FirstLine.ts"

// One-line label of a tool call, and whether the reports so far are enough for one.

/** `Run npm test`, `Edit src/main.ts`, or the agent's title. */
export const acpCallLabel = (call: ToolCall, agent: AcpAgent, relative: Relative): string => {
  const command = readShellCommand(call, agent)
  if (command !== undefined) return titleLine(`Run ${command}`)
  const [file] = filesInCall(call, relative)
  if (file !== undefined && call.kind === "read") return titleLine(`Read ${file}`)
  if (file !== undefined && call.kind === "edit") return titleLine(`Edit ${file}`)
  return titleLine(call.title)
}

/** Whether the command, file or input is known. Some agents send the input piece by piece. */
export const hasSubject = (call: ToolCall, agent: AcpAgent, relative: Relative): boolean => {
  switch (call.kind) {
    case "execute":
      return readShellCommand(call, agent) !== undefined
    case "read":
    case "edit":
    case "delete":
    case "move":
      return filesInCall(call, relative).length > 0
    default:
      return (
        Object.keys(call.input).length > 0 || (call.status === "in_progress" && agent.inputInContent !== true)
      )
  }
}

/** Ids of closed calls, to distinguish late reports from new calls. Beyond that, all are forgotten. */
const MAX_CLOSED = 10_000

interface FollowedCall {
  call: ToolCall
  isDenied: boolean
  /** The permission was given, and the agent has not reported the call since. */
  isOnlyAllowed: boolean
}

export class ToolCalls {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  readonly #relative: Relative
  readonly #followed = new Map<string, FollowedCall>()
  /** Followed calls that are not opened, and those that were denied. */
  readonly #unopened = new Set<FollowedCall>()
  readonly #denied = new Set<FollowedCall>()
  readonly #closed = new Set<string>()
  #cancelling = false

  constructor(collector: OutputCollector, agent: AcpAgent, relative: Relative) {
    this.#collector = collector
    this.#agent = agent
    this.#relative = relative
  }

  /** Whether a call has no result. Then the model was not called again. */
  get isAnyOpen(): boolean {
    return this.#followed.size > 0
  }

  /** Whether a call with this id has no result. */
  isOpen(callId: string | undefined): boolean {
    return callId !== undefined && this.#followed.has(callId)
  }

  /** Reads a `tool_call` or `tool_call_update`. Returns the call; `undefined` if it has no id or is over. */
  report(report: UnverifiedFields<Acp.SessionUpdate>): ToolCall | undefined {
    const callId = textOf(report.toolCallId)
    if (callId === undefined || this.#closed.has(callId)) return undefined
    const followed = this.#follow(callId, report)
    followed.isOnlyAllowed = false
    const { call } = followed
    switch (call.status) {
      case "completed":
      case "failed":
        this.#close(followed)
        break
      case "in_progress":
        if (hasSubject(call, this.#agent, this.#relative)) this.#openCall(followed)
        break
      default:
        // Some agents send the whole input with the call, others piece by piece after it.
        if (report.sessionUpdate === "tool_call" && hasSubject(call, this.#agent, this.#relative))
          this.#openCall(followed)
    }
    return call
  }

  /** The call of a permission request, merged with the request. The request may have less of the input than earlier reports. */
  requestPermission(request: UnverifiedFields<Acp.ToolCallUpdate>): ToolCall | undefined {
    const callId = textOf(request.toolCallId)
    if (callId === undefined || this.#closed.has(callId)) return undefined
    const input = this.#followed.get(callId)?.call.input ?? {}
    const rawInput = { ...input, ...objectOf(request.rawInput) }
    const followed = this.#follow(callId, { ...request, rawInput })
    this.#openCall(followed)
    return followed.call
  }

  /** Records that the permission for a call was given. */
  allow(callId: string): void {
    const followed = this.#followed.get(callId)
    if (followed !== undefined) followed.isOnlyAllowed = true
  }

  /** Records that the permission for a call was denied. The agent may not report that. */
  deny(callId: string): void {
    const followed = this.#followed.get(callId)
    if (followed === undefined) return
    followed.isDenied = true
    this.#denied.add(followed)
  }

  /** Records that a cancel was sent. */
  cancel(): void {
    this.#cancelling = true
  }

  /** Opens every reported call, because the agent reports something other than a call. */
  openAll(): void {
    if (this.#unopened.size === 0) return
    for (const followed of this.#unopened) this.#openCall(followed)
  }

  /** Closes denied calls, because the agent writes text again or its turn has ended. */
  closeDenied(): void {
    if (this.#denied.size === 0) return
    for (const followed of this.#denied) this.#close(followed)
  }

  /** The input of an open call, as far as it is known. */
  inputOf(callId: string | undefined): JsonObject {
    return objectOf(callId === undefined ? undefined : this.#followed.get(callId)?.call.input)
  }

  /** The call of the sub-agent that made this call. */
  parentOf(callId: string | undefined): string | undefined {
    return callId === undefined ? undefined : this.#followed.get(callId)?.call.parentCallId
  }

  /**
   * Ends a turn: forgets the agent's own calls, which the collector closes, but for those that continue. A call that was allowed and never
   * reported again is completed if the turn is.
   */
  endTurn(isCompleted: boolean, continues: (callId: string) => boolean): void {
    const parents = new Set([...this.#followed.values()].map(({ call }) => call.parentCallId))
    for (const [callId, followed] of this.#followed) {
      if (followed.call.parentCallId !== undefined || parents.has(callId) || continues(callId)) continue
      this.#forget(followed)
      if (isCompleted && followed.isOnlyAllowed) this.#collector.closeCall({ callId, status: "completed" })
    }
  }

  #follow(callId: string, report: ToolCallReport): FollowedCall {
    const existing = this.#followed.get(callId)
    if (existing !== undefined) {
      existing.call = mergeReport(existing.call, report, this.#agent)
      return existing
    }
    const followed: FollowedCall = {
      call: firstReport(callId, report, this.#agent),
      isDenied: false,
      isOnlyAllowed: false
    }
    this.#followed.set(callId, followed)
    this.#unopened.add(followed)
    return followed
  }

  #openCall(followed: FollowedCall): void {
    if (!this.#unopened.delete(followed)) return
    const { callId, input, parentCallId, tool } = followed.call
    const label = acpCallLabel(followed.call, this.#agent, this.#relative)
    this.#collector.openCall({
      callId,
      tool,
      label,
      ...(Object.keys(input).length === 0 ? {} : { input }),
      ...defined({ parentCallId })
    })
  }

  #close(followed: FollowedCall): void {
    this.#openCall(followed)
    const { call, isDenied } = followed
    this.#forget(followed)
    const wasStopped = this.#wasStopped(call)
    const isCompleted = call.status === "completed" && !wasStopped
    if (isCompleted)
      for (const event of filesTouchedBy(call, this.#relative)) this.#collector.emitEvent(event)
    const status = isCompleted
      ? "completed"
      : wasStopped
        ? "cancelled"
        : isDenied
          ? "denied"
          : readFailedStatus(call)
    // The content of a denied call without a result is the request, not an output.
    const hasResult = call.status === "completed" || call.status === "failed"
    const output = hasResult ? readCallOutput(call) : undefined
    if (hasResult)
      for (const file of filesInContent(call)) this.#collector.artifact({ ...file, callId: call.callId })
    this.#collector.closeCall(defined({ callId: call.callId, status, output, exitCode: readExitCode(call) }))
  }

  #forget(followed: FollowedCall): void {
    const { callId } = followed.call
    this.#followed.delete(callId)
    this.#unopened.delete(followed)
    this.#denied.delete(followed)
    if (this.#closed.size >= MAX_CLOSED) this.#closed.clear()
    this.#closed.add(callId)
  }

  #wasStopped(call: ToolCall): boolean {
    const pattern = this.#agent.cancelsInWords
    return this.#cancelling && pattern !== undefined && pattern.test(readCallOutput(call) ?? "")
  }
}
