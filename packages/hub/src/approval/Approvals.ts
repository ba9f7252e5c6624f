/**
 * Approvals as the Hub mirrors them, and reads of what runs ask people: approvals or questions. Read only. `RunLog` writes one row per
 * request from the events that request and resolve it.
 *
 * Does not decide: the first valid decision wins at the Edge, and an event reports it.
 */
import type { Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type { ApprovalId, DeviceId, ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { approvalTable, type RequestRow, type RequestTable } from "../run/RequestTable.ts"
import { readableRows } from "../store/ListPage.ts"

/** A request with the project and target of its run. */
export type Placed<Request> = Request & { readonly projectId: ProjectId; readonly targetId: DeviceId }

export interface RequestFilter<State extends string> {
  readonly projectId?: ProjectId | undefined
  readonly runId?: RunId | undefined
  readonly state?: State | undefined
}

export interface RequestReads<Id extends string, Request, State extends string> {
  /** Reads a request before the caller's rights are known. Use the result for that check, not as a response. */
  readonly find: (id: Id) => Effect.Effect<Placed<Request> | undefined, SqlError.SqlError>
  /** Requests after `after`, oldest first. The caller has checked that the reader may read `filter.projectId`. */
  readonly list: (
    reader: UserId,
    filter: RequestFilter<State>,
    after: string | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Placed<Request>>, SqlError.SqlError>
}

const placed = <Request extends object>({
  document,
  project_id: projectId,
  target_id: targetId
}: RequestRow<Request>): Placed<Request> => ({ ...document, projectId, targetId })

export const requestReads = <Id extends string, Request extends { readonly id: Id }, State extends string>(
  sql: SqlClient.SqlClient,
  { columns, name, rows }: RequestTable<Request>
): RequestReads<Id, Request, State> => ({
  find: Effect.fnUntraced(function* (id: Id) {
    const row = yield* rows.first(
      sql`SELECT ${sql.literal(columns)} FROM ${sql.literal(name)} WHERE id = ${id}`
    )
    return row && placed(row)
  }),
  list: Effect.fnUntraced(function* (
    reader: UserId,
    { projectId, runId, state }: RequestFilter<State>,
    after: string | undefined,
    limit: number
  ) {
    const conditions = [
      ...(runId === undefined ? [] : [sql`run_id = ${runId}`]),
      ...(state === undefined ? [] : [sql`state = ${state}`])
    ]
    const page = { reader, projectId, conditions, order: "oldest", after, limit } as const
    const found = yield* rows.all(readableRows(sql, { table: name, columns, ...page }))
    return found.map(placed)
  })
})

export class Approvals extends Context.Service<
  Approvals,
  RequestReads<ApprovalId, Approval, ApprovalState>
>()("corral/hub/Approvals") {
  static readonly layer = Layer.effect(
    Approvals,
    Effect.map(SqlClient.SqlClient, (sql) => Approvals.of(requestReads(sql, approvalTable)))
  )
}
