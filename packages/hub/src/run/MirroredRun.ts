/**
 * The mirrored run as events move it: the run's row and its approvals, folded with the same table as on the Edge. Synchronous.
 *
 * An Edge's log has passed the run machine; one that does not fold is not taken. Tool calls are not followed: they move nothing here.
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

/** What events told of a run beside its state. */
export interface RunSummary {
  readonly runtimeSessionId?: string
  readonly model?: string
  readonly usage?: Usage
  readonly resultText?: string
  readonly error?: RunFailure
  readonly worktree?: RunId
  readonly endedAt?: string
}

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

/** The events that move a run. Everything else only flows. */
const moving = new Set([
  "run.created",
  "run.started",
  "run.approval.requested",
  "run.approval.resolved",
  "run.completed",
  "run.failed",
  "run.cancelled"
])

export class MirroredRun {
  /** Asked in these events, each as it is after them. */
  readonly requestedApprovals = new Map<ApprovalId, Approval>()
  /** Asked before these events and resolved by them. */
  readonly resolvedApprovals = new Map<ApprovalId, ApprovalResolution>()
  summary: RunSummary
  private readonly run: MirroredRunRow
  private folded: RunState

  constructor(run: MirroredRunRow) {
    this.run = run
    this.summary = run.summary
    this.folded =
      run.state === "queued"
        ? initial
        : { ...initial, status: run.state, started: run.isStarted, pending: run.pending }
  }

  get state(): HubRunStatus {
    return this.folded.status ?? "queued"
  }

  get isStarted(): boolean {
    return this.folded.started
  }

  get pending(): ReadonlyArray<ApprovalId> {
    return this.folded.pending
  }

  get isEnded(): boolean {
    return this.folded.status !== undefined && isTerminal(this.folded.status)
  }

  /** Whether anything but the log's length has changed. */
  get hasChanged(): boolean {
    return (
      this.state !== this.run.state ||
      this.summary !== this.run.summary ||
      this.requestedApprovals.size > 0 ||
      this.resolvedApprovals.size > 0
    )
  }

  /** `false`: the event cannot follow. */
  apply(envelope: Envelope): boolean {
    if (!moving.has(envelope.type)) return this.folded.status !== undefined && !this.isEnded
    const event = eventOf(envelope)
    // An approval of a later version: readers who know it find it in the log.
    if (event === undefined) return !this.isEnded
    const next = accept(this.folded, event)
    if (!next.ok) return false
    this.folded = next.state
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
        const resolved = approvalResolution(event.payload, at)
        const asked = this.requestedApprovals.get(approvalId)
        if (asked === undefined) this.resolvedApprovals.set(approvalId, resolved)
        else this.requestedApprovals.set(approvalId, { ...asked, ...resolved })
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
            ? { resultText: cutResult(event.payload.text) }
            : {})
        }
      }
    }
  }
}

/** A known event as a draft. One that ends the run ends it also where its payload is of a later version. */
const eventOf = (envelope: Envelope): EventDraft | undefined => {
  const decoded = decodeEvent(envelope)
  if (Result.isSuccess(decoded) && decoded.success._tag === "KnownEvent") {
    const { payload, type } = decoded.success.event
    // The pair comes from one event; TypeScript does not follow the union through the destructuring.
    return { type, payload } as unknown as EventDraft
  }
  if (!isTerminalType(envelope.type))
    return envelope.type === "run.started" ? draft("run.started", {}) : undefined
  return envelope.type === "run.failed"
    ? draft("run.failed", { error: { code: "internal", message: "The run failed." } })
    : draft(envelope.type, {})
}

/** Bytes of a result in the run's row. The whole of it is in the log. */
const RESULT_BYTES = 65_536

const cutResult = (text: string): string => {
  const bytes = Buffer.from(text, "utf8")
  if (bytes.length <= RESULT_BYTES) return text
  // A character that was cut through is left out.
  return bytes
    .subarray(0, RESULT_BYTES)
    .toString("utf8")
    .replace(/\uFFFD$/, "")
}
