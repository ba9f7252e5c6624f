/**
 * The mirrored run while events are appended to its log: the run's row, its approvals and its questions, folded with `RunState` as on the Edge.
 *
 * Guarantees: synchronous. The result does not depend on how the events are grouped into batches.
 * Does not: accept an event that cannot follow. The log of an Edge has passed the run machine, so such a log is broken. An exception are events
 * that follow others which a Hub of 0.2.0 has stored: that version does not fold questions, turns and work.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { AgentId, ApprovalId, InputRequestId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { InputRequest, RequestedInput } from "@corral/domain/input/InputRequest"
import {
  type ApprovalResolution,
  type InputResolution,
  approvalResolution,
  inputResolution
} from "@corral/domain/run/Resolution"
import { isTerminal, isTerminalType } from "@corral/domain/run/RunEnd"
import {
  type Envelope,
  type EventDraft,
  type EventType,
  type PayloadOf,
  decodeEvent,
  draft
} from "@corral/domain/run/RunEvent"
import { type Refusal, type RunState, accept, initial, runSummaryOf } from "@corral/domain/run/RunState"
import { VersionedMap } from "@corral/domain/run/VersionedMap"
import { Result } from "effect"
import { higherUse, highestUseOf } from "../usage/UsageMetrics.ts"
import { commandsOf, type FoldedColumns } from "./Runs.ts"

// What a run asks people by a part of its events: approvals, or questions. Each request is in its state after them.

interface Identified<Id> {
  readonly id: Id
}

export class MirroredRequests<Id extends string, Request extends Identified<Id>, Resolution extends object> {
  /** Requested by these events. */
  readonly requested = new Map<Id, Request>()
  /** Requested earlier, and resolved by these events. */
  readonly resolved = new Map<Id, Resolution>()

  get hasChanged(): boolean {
    return this.requested.size > 0 || this.resolved.size > 0
  }

  request(request: Request): void {
    this.requested.set(request.id, request)
  }

  resolve(id: Id, resolution: Resolution): void {
    const requested = this.requested.get(id)
    if (requested === undefined) this.resolved.set(id, resolution)
    else this.requested.set(id, { ...requested, ...resolution })
  }
}

/** A run's row as the fold needs it. */
export interface MirroredRunRow extends FoldedColumns {
  readonly id: RunId
  readonly agentId: AgentId
  readonly workspace: WorkspaceId
}

/** What each event changes besides the log: the run's row, a request of the run, or nothing. Tool calls are not tracked. */
const changes = {
  "run.created": "run",
  "run.started": "run",
  "run.completed": "run",
  "run.failed": "run",
  "run.cancelled": "run",
  "run.paused": "run",
  "run.resumed": "run",
  "run.message.delta": "nothing",
  "run.message.completed": "nothing",
  "run.tool.call": "nothing",
  "run.tool.result": "nothing",
  "run.file.read": "nothing",
  "run.file.changed": "nothing",
  "run.diff.ready": "nothing",
  "run.protected.changed": "run",
  "run.repository.changed": "nothing",
  "run.changes.unknown": "run",
  "run.patch.proposed": "nothing",
  "run.artifact.ready": "nothing",
  "run.preview.ready": "nothing",
  "run.approval.requested": "request",
  "run.approval.resolved": "request",
  "run.input.requested": "request",
  "run.input.resolved": "request",
  "run.work.started": "turn",
  "run.work.ended": "turn",
  "run.turn.started": "turn",
  "run.turn.ended": "turn",
  "run.usage.updated": "run",
  "run.steps.updated": "nothing",
  "run.notice": "nothing",
  "runtime.unavailable": "nothing",
  "runtime.retrying": "nothing",
  "runtime.timeout": "nothing",
  "schema.validation_failed": "nothing",
  "integration.message.received": "nothing",
  "integration.card.action": "nothing",
  "identity.binding.required": "nothing"
} as const satisfies Record<EventType, "run" | "request" | "turn" | "nothing">

/** Types that change a row. Types of later versions only extend the log. */
const changing: ReadonlySet<string> = new Set(
  Object.entries(changes).flatMap(([type, changed]) => (changed === "nothing" ? [] : [type]))
)

/** The fold needs the ids of questions only. `InputRequest` rows have the rest. */
const anyRequest: RequestedInput = { kind: "question", title: "" }

const stateOf = (row: MirroredRunRow): RunState => {
  const { idle: isIdle, pending, started, state: status, told, turn } = row
  if (status === "queued") return initial
  const works = row.work ?? []
  return {
    ...initial,
    ...told,
    status,
    started,
    pending: VersionedMap.of(pending.map((id) => [id, true])),
    pendingInputs: VersionedMap.of(row.pending_inputs.map((id) => [id, anyRequest])),
    outstanding: VersionedMap.of(works),
    commands: commandsOf(works),
    turn,
    isIdle
  }
}

export class MirroredRun {
  readonly approvals = new MirroredRequests<ApprovalId, Approval, ApprovalResolution>()
  readonly inputs = new MirroredRequests<InputRequestId, InputRequest, InputResolution>()
  /** Turns that ended by these events. */
  readonly endedTurns: Array<PayloadOf<"run.turn.ended">> = []
  summary: FoldedColumns["told"]
  /** The user who cancelled the run by these events. */
  cancelledBy: string | undefined
  private readonly run: MirroredRunRow
  private readonly before: RunState
  private current: RunState

  constructor(run: MirroredRunRow) {
    this.run = run
    this.summary = run.told
    this.before = stateOf(run)
    this.current = this.before
  }

  get state(): HubRunStatus {
    return this.current.status ?? "queued"
  }

  get isStarted(): boolean {
    return this.current.started
  }

  get isEnded(): boolean {
    return this.current.status !== undefined && isTerminal(this.current.status)
  }

  /** Whether the run has, or had, more than one turn. */
  get hasTurns(): boolean {
    return this.current.turn > 1 || this.current.isIdle
  }

  /** Whether the turn, the questions or the pause of the run changed: what decides whether it can take a message. */
  get hasTurnChanged(): boolean {
    const { isIdle, paused, pendingInputs, turn } = this.current
    const { before } = this
    return (
      isIdle !== before.isIdle ||
      turn !== before.turn ||
      pendingInputs.size !== before.pendingInputs.size ||
      paused !== before.paused
    )
  }

  /** Whether readers of lists see a change. */
  get isShownChange(): boolean {
    return (
      this.state !== this.run.state ||
      this.hasTurnChanged ||
      this.summary.usage !== this.run.told.usage ||
      this.current.outstanding !== this.before.outstanding
    )
  }

  /** Whether a row must be written, not only the log. */
  get hasChanged(): boolean {
    return (
      this.isShownChange ||
      this.summary !== this.run.told ||
      this.approvals.hasChanged ||
      this.inputs.hasChanged
    )
  }

  /** The run's row after the events. */
  get columns(): FoldedColumns {
    const { isIdle, outstanding, pending, pendingInputs, started, turn } = this.current
    const isLive = !this.isEnded
    return {
      state: this.state,
      started,
      pending: pending.keys(),
      told: this.summary,
      pending_inputs: isLive ? pendingInputs.keys() : [],
      turn,
      idle: isLive && isIdle,
      work: isLive && outstanding.size > 0 ? outstanding.entries() : null
    }
  }

  /** Returns `false` if the event cannot follow. */
  apply(envelope: Envelope): boolean {
    if (!changing.has(envelope.type)) return this.current.status !== undefined && !this.isEnded
    const event = draftOf(envelope)
    // A request of a later version. Readers of that version find it in the log.
    if (event === undefined) return !this.isEnded
    const next = this.follow(event, envelope.createdAt)
    if (next === undefined) return false
    const { usage } = this.current
    this.current = next
    if (changes[event.type] === "run" || next.usage !== usage) this.summarize(envelope.createdAt)
    this.record(event, envelope.createdAt)
    return true
  }

  /** The state after the event; `undefined` if it cannot follow. */
  private follow(event: EventDraft, at: string): RunState | undefined {
    const next = accept(this.current, event)
    if (next.ok) return next.state
    if (unseen.has(next.refusal)) return this.current
    if (next.refusal !== "inputs_pending" && next.refusal !== "work_outstanding") return undefined
    for (const id of this.current.pendingInputs.keys())
      this.inputs.resolve(id, { state: "cancelled", resolvedAt: at })
    const ended = accept(
      { ...this.current, pendingInputs: initial.pendingInputs, outstanding: initial.outstanding },
      event
    )
    return ended.ok ? ended.state : undefined
  }

  private summarize(at: string): void {
    const { resultText, ...facts } = runSummaryOf(this.current)
    const highestUse = higherUse(highestUseOf(this.summary), facts.usage)
    this.summary = {
      ...facts,
      ...(highestUse === undefined ? {} : { highestUse }),
      ...(resultText === undefined ? {} : { resultText: truncateResult(resultText) }),
      ...(this.isEnded ? { endedAt: at } : {})
    }
  }

  private record(event: EventDraft, at: string): void {
    const { agentId, id: runId, workspace } = this.run
    const place = { runId, agentId, workspace, state: "pending", requestedAt: at } as const
    switch (event.type) {
      case "run.approval.requested": {
        const { approvalId: id, expiresAt, request } = event.payload
        return this.approvals.request({ id, ...place, request, expiresAt })
      }
      case "run.approval.resolved":
        return this.approvals.resolve(event.payload.approvalId, approvalResolution(event.payload, at))
      case "run.input.requested": {
        const { expiresAt, inputId: id, request } = event.payload
        return this.inputs.request({
          id,
          ...place,
          ...request,
          ...(expiresAt === undefined ? {} : { expiresAt })
        })
      }
      case "run.input.resolved":
        return this.inputs.resolve(event.payload.inputId, inputResolution(event.payload, at))
      case "run.turn.ended":
        return void this.endedTurns.push(event.payload)
      case "run.cancelled":
        this.cancelledBy = event.payload.by
    }
  }
}

/** Refusals of events that follow others which an older Hub has not folded. */
const unseen: ReadonlySet<Refusal> = new Set([
  "unknown_input",
  "work_already_started",
  "work_not_started",
  "turn_active",
  "turn_idle"
])

/** A known event as a draft. A terminal event ends the run even if its payload is of a later version. */
const draftOf = (envelope: Envelope): EventDraft | undefined => {
  const decoded = decodeEvent(envelope)
  if (Result.isSuccess(decoded) && decoded.success._tag === "KnownEvent") {
    const { payload, type } = decoded.success.event
    // Both come from one event; TypeScript loses the union in the destructuring.
    return { type, payload } as unknown as EventDraft
  }
  if (!isTerminalType(envelope.type))
    return envelope.type === "run.started" ? draft("run.started", {}) : undefined
  return envelope.type === "run.failed"
    ? draft("run.failed", { error: { code: "internal", message: "The run failed." } })
    : draft(envelope.type, {})
}

/** Bytes of the text of a turn, in the run's row and in messages. The log contains the whole text. */
const RESULT_BYTES = 65_536

export const truncateResult = (text: string): string => {
  const bytes = Buffer.from(text, "utf8")
  if (bytes.length <= RESULT_BYTES) return text
  // A character that was cut in two is removed.
  return bytes
    .subarray(0, RESULT_BYTES)
    .toString("utf8")
    .replace(/\uFFFD$/, "")
}
