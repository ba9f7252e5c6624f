/**
 * State of a mirrored run and its approvals, derived from pushed events by the same state machine as on the Edge. Synchronous.
 *
 * Guarantees: an event that the state machine does not accept is refused, since an Edge's log has passed the same machine.
 * Does not follow tool calls: they change nothing here.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { AgentId, ApprovalId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { type ApprovalResolution, approvalResolution } from "@corral/domain/run/Resolution"
import { isTerminal, type RunFailure, type Usage } from "@corral/domain/run/Run"
import {
  decodeEvent,
  draft,
  type Envelope,
  type EventDraft,
  isTerminalType
} from "@corral/domain/run/RunEvent"
import { accept, initial, type RunState } from "@corral/domain/run/RunState"
import { Result } from "effect"

/** What the events of a run say besides its state. */
export interface RunSummary {
  readonly runtimeSessionId?: string
  readonly model?: string
  readonly usage?: Usage
  readonly resultText?: string
  readonly error?: RunFailure
  readonly worktree?: RunId
  readonly endedAt?: string
}

/** The run before the pushed events. */
export interface MirroredRunRow {
  readonly id: RunId
  readonly agentId: AgentId
  readonly workspace: WorkspaceId
  readonly state: HubRunStatus
  readonly isStarted: boolean
  readonly pending: ReadonlyArray<ApprovalId>
  readonly summary: RunSummary
}

/** Events that change a run. All others are only stored. */
const stateEvents = new Set([
  "run.created",
  "run.started",
  "run.approval.requested",
  "run.approval.resolved",
  "run.completed",
  "run.failed",
  "run.cancelled"
])

export class MirroredRun {
  /** Approvals requested by these events, in their state after them. */
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
        : { ...initial, status: run.state, started: run.isStarted, pending: run.pending }
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

  /** Whether anything besides the length of the log has changed. */
  get hasChanged(): boolean {
    return (
      this.state !== this.run.state ||
      this.summary !== this.run.summary ||
      this.requestedApprovals.size > 0 ||
      this.resolvedApprovals.size > 0
    )
  }

  /** Returns `false` if the event can't follow the log. */
  apply(envelope: Envelope): boolean {
    if (!stateEvents.has(envelope.type)) return this.current.status !== undefined && !this.isEnded
    const event = eventOf(envelope)
    // An approval of a later version: clients that support it find it in the log.
    if (event === undefined) return !this.isEnded
    const next = accept(this.current, event)
    if (!next.ok) return false
    this.current = next.state
    this.summarize(event, envelope.createdAt)
    return true
  }

  private summarize(event: EventDraft, at: string): void {
    switch (event.type) {
      case "run.created": {
        const { worktree } = event.payload
        if (worktree !== undefined) this.summary = { ...this.summary, worktree: worktree.runId }
        return
      }
      case "run.started": {
        const { model, runtimeSessionId } = event.payload
        this.summary = {
          ...this.summary,
          ...(runtimeSessionId === undefined ? {} : { runtimeSessionId }),
          ...(model === undefined ? {} : { model })
        }
        return
      }
      case "run.approval.requested": {
        const { approvalId: id, expiresAt, request } = event.payload
        const { agentId, id: runId, workspace } = this.run
        this.requestedApprovals.set(id, {
          id,
          runId,
          agentId,
          workspace,
          state: "pending",
          request,
          requestedAt: at,
          expiresAt
        })
        return
      }
      case "run.approval.resolved": {
        const { approvalId } = event.payload
        const resolution = approvalResolution(event.payload, at)
        const requested = this.requestedApprovals.get(approvalId)
        if (requested === undefined) this.resolvedApprovals.set(approvalId, resolution)
        else this.requestedApprovals.set(approvalId, { ...requested, ...resolution })
        return
      }
      case "run.completed":
      case "run.failed":
      case "run.cancelled": {
        const { usage } = event.payload
        this.summary = {
          ...this.summary,
          endedAt: at,
          ...(usage === undefined ? {} : { usage }),
          ...(event.type === "run.failed" ? { error: event.payload.error } : {}),
          ...(event.type === "run.completed" && event.payload.text !== undefined
            ? { resultText: truncateResult(event.payload.text) }
            : {})
        }
      }
    }
  }
}

/** A supported event as a draft. A terminal event ends the run even if its payload is of a later version. */
const eventOf = (envelope: Envelope): EventDraft | undefined => {
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

/** Bytes of a result in the run's row. The log has the whole result. */
const RESULT_BYTES = 65_536

const truncateResult = (text: string): string => {
  const bytes = Buffer.from(text, "utf8")
  if (bytes.length <= RESULT_BYTES) return text
  // Drop a character that was cut in half.
  return bytes
    .subarray(0, RESULT_BYTES)
    .toString("utf8")
    .replace(/\uFFFD$/, "")
}
