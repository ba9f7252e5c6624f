/**
 * Rows of the runs that this Hub has stored events of lately, as its last push has left them.
 *
 * Guarantees: a row whose `last_seq` is still that of the table is the row of the table. Only pushes change the columns of a run with events,
 * and each push moves `last_seq`.
 * Does not hold runs that have ended. The least recently used run is forgotten first.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { MirroredRequests } from "./MirroredRequests.ts"
import { approvesPlan } from "./PlanTask.ts"
import type { PushedRun } from "./PushedRun.ts"
import type { LockedRunRow } from "./RunRow.ts"

export interface KnownRun {
  readonly row: LockedRunRow
  /** Its pending approvals and questions that this Hub has stored. */
  readonly approvals: ReadonlyMap<ApprovalId, Approval>
  readonly inputs: ReadonlyMap<InputRequestId, InputRequest>
  /** Whether a plan of the run may have been approved: this Hub has not stored all events of the run, or an approval. */
  readonly mayHavePlan: boolean
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
  note(run: PushedRun): void {
    const { lastSeq, mirror, row } = run
    const earlier = this.runs.get(row.id)
    this.runs.delete(row.id)
    if (mirror.isEnded) return
    this.runs.set(row.id, {
      row: { ...row, ...mirror.columns, last_seq: lastSeq },
      approvals: pendingAfter(earlier?.approvals, mirror.approvals),
      inputs: pendingAfter(earlier?.inputs, mirror.inputs),
      mayHavePlan: (earlier?.mayHavePlan ?? row.last_seq > 0) || approvesPlan(run)
    })
    if (this.runs.size <= MAX_RUNS) return
    const [oldest] = this.runs.keys()
    if (oldest !== undefined) this.runs.delete(oldest)
  }
}

const pendingAfter = <Id extends string, Request extends { readonly id: Id; readonly state: string }>(
  before: ReadonlyMap<Id, Request> | undefined,
  { requested, resolved }: MirroredRequests<Id, Request, object>
): ReadonlyMap<Id, Request> => {
  const pending = new Map(before)
  for (const [id, request] of requested) if (request.state === "pending") pending.set(id, request)
  for (const id of resolved.keys()) pending.delete(id)
  return pending
}
