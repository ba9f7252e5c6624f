/**
 * Rows of the runs that this Hub has stored events of lately, as its last push has left them.
 *
 * Guarantees: a row whose `last_seq` is still that of the table is the row of the table. Only pushes change the columns of a run with events,
 * and each push moves `last_seq`.
 * Does not hold runs that have ended. The least recently used run is forgotten first.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import type { PushedRun } from "./PushedRun.ts"
import type { LockedRunRow } from "./RunRow.ts"

export interface KnownRun {
  readonly row: LockedRunRow
  /** Its pending approvals that this Hub has stored. */
  readonly approvals: ReadonlyMap<ApprovalId, Approval>
}

const MAX_RUNS = 10_000

export class KnownRuns {
  private readonly runs = new Map<RunId, KnownRun>()

  find(id: RunId): KnownRun | undefined {
    return this.runs.get(id)
  }

  forget(id: RunId): void {
    this.runs.delete(id)
  }

  /** Notes a run after its events were stored. */
  note({ lastSeq, mirror, row }: PushedRun): void {
    const approvals = new Map(this.runs.get(row.id)?.approvals)
    this.runs.delete(row.id)
    if (mirror.isEnded) return
    for (const [id, approval] of mirror.requestedApprovals)
      if (approval.state === "pending") approvals.set(id, approval)
    for (const id of mirror.resolvedApprovals.keys()) approvals.delete(id)
    const { isStarted, pending, state, summary } = mirror
    this.runs.set(row.id, {
      row: { ...row, state, started: isStarted, pending, told: summary, last_seq: lastSeq },
      approvals
    })
    if (this.runs.size <= MAX_RUNS) return
    const [oldest] = this.runs.keys()
    if (oldest !== undefined) this.runs.delete(oldest)
  }
}
