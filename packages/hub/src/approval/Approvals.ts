/**
 * Approvals as the Hub mirrors them. Read only; `RunLog` writes one row per approval from the events that request and resolve it.
 *
 * Does not decide: the first valid decision wins at the Edge, and an event reports it.
 */
import type { ApprovalState } from "@corral/domain/approval/Approval"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { APPROVAL_COLUMNS, approvalRows, hubApprovalOf } from "../run/ApprovalRow.ts"
import { readableRows } from "../store/ReadableList.ts"

export interface ApprovalFilter {
  readonly projectId?: ProjectId | undefined
  readonly runId?: RunId | undefined
  readonly state?: ApprovalState | undefined
}

export class Approvals extends Context.Service<
  Approvals,
  {
    /** Reads an approval before the caller's rights are known. Use the result for that check, not as a response. */
    readonly find: (id: ApprovalId) => Effect.Effect<HubApproval | undefined, SqlError.SqlError>
    /** Approvals after `after`, oldest first. The caller has checked that the reader may read `filter.projectId`. */
    readonly list: (
      reader: UserId,
      filter: ApprovalFilter,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HubApproval>, SqlError.SqlError>
  }
>()("corral/hub/Approvals") {
  static readonly layer = Layer.effect(
    Approvals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return Approvals.of({
        find: Effect.fnUntraced(function* (id) {
          const row = yield* approvalRows.first(
            sql`SELECT ${sql.literal(APPROVAL_COLUMNS)} FROM approvals WHERE id = ${id}`
          )
          return row && hubApprovalOf(row)
        }),
        list: Effect.fnUntraced(function* (reader, { projectId, runId, state }, after, limit) {
          const conditions = [
            ...(runId === undefined ? [] : [sql`run_id = ${runId}`]),
            ...(state === undefined ? [] : [sql`state = ${state}`])
          ]
          const page = { reader, projectId, conditions, order: "oldest", after, limit } as const
          const rows = yield* approvalRows.all(
            readableRows(sql, { table: "approvals", columns: APPROVAL_COLUMNS, ...page })
          )
          return rows.map(hubApprovalOf)
        })
      })
    })
  )
}
