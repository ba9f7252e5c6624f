/**
 * The mirrored run while events are appended to its log: the run's row and its approvals, folded with `RunState` as on the Edge.
 *
 * Guarantees: synchronous. The result does not depend on how the events are grouped into batches.
 * Does not: accept an event that cannot follow. The log of an Edge has passed the run machine, so such a log is broken.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { AgentId, ApprovalId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { type ApprovalResolution, approvalResolution } from "@corral/domain/run/Resolution"
import { isTerminal } from "@corral/domain/run/RunEnd"
import {
  decodeEvent,
  draft,
  type Envelope,
  type EventDraft,
  type EventType
} from "@corral/domain/run/RunEvent"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { accept, initial, type RunState, type RunSummary, runSummaryOf } from "@corral/domain/run/RunState"
import { Result } from "effect"

/** A run's row as the fold needs it. */
export interface MirroredRunRow {
  readonly id: RunId
  readonly agentId: AgentId
  readonly workspace: WorkspaceId
  readonly state: HubRunStatus
  readonly isStarted: boolean
  readonly pending: ReadonlyArray<ApprovalId>
  readonly summary: RunSummary
}

/** What each event changes besides the log: the run's row, its approvals, or nothing. Tool calls are not tracked. */
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
  "run.patch.proposed": "nothing",
  "run.artifact.ready": "nothing",
  "run.preview.ready": "nothing",
  "run.approval.requested": "approvals",
  "run.approval.resolved": "approvals",
  "runtime.unavailable": "nothing",
  "runtime.retrying": "nothing",
  "runtime.timeout": "nothing",
  "schema.validation_failed": "nothing",
  "integration.message.received": "nothing",
  "integration.card.action": "nothing",
  "identity.binding.required": "nothing"
} as const satisfies Record<EventType, "run" | "approvals" | "nothing">

/** Types that change a row. Types of later versions only extend the log. */
const changing: ReadonlySet<string> = new Set(
  Object.entries(changes).flatMap(([type, changed]) => (changed === "nothing" ? [] : [type]))
)

export class MirroredRun {
  /** Approvals requested by these events, each in its state after them. */
  readonly requestedApprovals = new Map<ApprovalId, Approval>()
  /** Approvals requested earlier and resolved by these events. */
  readonly resolvedApprovals = new Map<ApprovalId, ApprovalResolution>()
  summary: RunSummary
  private readonly run: MirroredRunRow
  private current: RunState

  constructor(run: MirroredRunRow) {
    this.run = run
    this.summary = run.summary
    this.current =
      run.state === "queued"
        ? initial
        : { ...initial, ...run.summary, status: run.state, started: run.isStarted, pending: run.pending }
  }

  get state(): HubRunStatus {
    return this.current.status ?? "queued"
  }

  get isStarted(): boolean {
    return this.current.started
  }

  get pending(): ReadonlyArray<ApprovalId> {
    return this.current.pending
  }

  get isEnded(): boolean {
    return this.current.status !== undefined && isTerminal(this.current.status)
  }

  /** Whether a row must be written, not only the log. */
  get hasChanged(): boolean {
    return (
      this.state !== this.run.state ||
      this.summary !== this.run.summary ||
      this.requestedApprovals.size > 0 ||
      this.resolvedApprovals.size > 0
    )
  }

  /** Returns `false` if the event cannot follow. */
  apply(envelope: Envelope): boolean {
    if (!changing.has(envelope.type)) return this.current.status !== undefined && !this.isEnded
    const event = draftOf(envelope)
    // An approval of a later version. Readers of that version find it in the log.
    if (event === undefined) return !this.isEnded
    const next = accept(this.current, event)
    if (!next.ok) return false
    this.current = next.state
    if (changes[event.type] === "run") this.summarize(envelope.createdAt)
    else this.recordApproval(event, envelope.createdAt)
    return true
  }

  private summarize(at: string): void {
    const { resultText, ...facts } = runSummaryOf(this.current)
    this.summary = {
      ...facts,
      ...(resultText === undefined ? {} : { resultText: truncateResult(resultText) }),
      ...(this.isEnded ? { endedAt: at } : {})
    }
  }

  private recordApproval(event: EventDraft, at: string): void {
    if (event.type === "run.approval.requested") {
      const { approvalId: id, expiresAt, request } = event.payload
      const { agentId, id: runId, workspace } = this.run
      const place = { id, runId, agentId, workspace }
      this.requestedApprovals.set(id, { ...place, state: "pending", request, requestedAt: at, expiresAt })
    } else if (event.type === "run.approval.resolved") {
      const { approvalId } = event.payload
      const resolution = approvalResolution(event.payload, at)
      const requested = this.requestedApprovals.get(approvalId)
      if (requested === undefined) this.resolvedApprovals.set(approvalId, resolution)
      else this.requestedApprovals.set(approvalId, { ...requested, ...resolution })
    }
  }
}

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

/** Bytes of a result in the run's row. The log contains the whole result. */
const RESULT_BYTES = 65_536

const truncateResult = (text: string): string => {
  const bytes = Buffer.from(text, "utf8")
  if (bytes.length <= RESULT_BYTES) return text
  // A character that was cut in two is removed.
  return bytes
    .subarray(0, RESULT_BYTES)
    .toString("utf8")
    .replace(/\uFFFD$/, "")
}
