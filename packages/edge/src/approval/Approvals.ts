/**
 * Rows of approvals: one per requested action, with its outcome.
 *
 * Guarantees: a row is written in the transaction of the events that request and resolve it. It outlives the run and the process.
 */
import type { Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

interface Row {
  readonly approval: string
}

export const putApproval = (approval: Approval): Write => [
  "INSERT INTO approvals (id, run_id, state, approval) VALUES (?, ?, ?, ?)",
  approval.id,
  approval.runId,
  approval.state,
  JSON.stringify(approval)
]

export const replaceApproval = (approval: Approval): Write => [
  "UPDATE approvals SET state = ?, approval = ? WHERE id = ?",
  approval.state,
  JSON.stringify(approval),
  approval.id
]

// This program wrote the row from a value of type Approval.
const parse = (row: Row): Approval => parseStored<Approval>(row.approval, "approval")

export const findApproval = (store: Store["Service"], id: ApprovalId): Approval | undefined => {
  const row = store.get<Row>("SELECT approval FROM approvals WHERE id = ?", id)
  return row === undefined ? undefined : parse(row)
}

/** Up to `limit` approvals after `after`, oldest first. */
export const pageOfApprovals = (
  store: Store["Service"],
  options: {
    readonly after?: string | undefined
    readonly runId?: RunId | undefined
    readonly state?: ApprovalState | undefined
    readonly limit: number
  }
): ReadonlyArray<Approval> => {
  const after = options.after ?? ""
  const { runId, state, limit } = options
  const select = "SELECT approval FROM approvals WHERE id > ?"
  const order = "ORDER BY id LIMIT ?"
  const rows =
    runId !== undefined && state !== undefined
      ? store.all<Row>(`${select} AND run_id = ? AND state = ? ${order}`, after, runId, state, limit)
      : runId !== undefined
        ? store.all<Row>(`${select} AND run_id = ? ${order}`, after, runId, limit)
        : state !== undefined
          ? store.all<Row>(`${select} AND state = ? ${order}`, after, state, limit)
          : store.all<Row>(`${select} ${order}`, after, limit)
  return rows.map(parse)
}
