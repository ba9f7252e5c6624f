/**
 * Requests of runs as the Hub mirrors them: approvals, and questions, forms and plans. Read only, except for the record of who approves a plan. `RunLog`
 * writes one row per request from the events that request and resolve it.
 *
 * Does not decide or answer: the first valid decision or answer wins at the Edge, and an event reports it. The Edge checks the mode that an approval
 * chooses again.
 */
import type { Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type {
  ApprovalId,
  DeviceId,
  ProjectId,
  RunId,
  UserId,
  InputRequestId
} from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type AnswerIssue, planModeIssues } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer, InputRequest, InputState } from "@corral/domain/input/InputRequest"
import { CreateRun } from "@corral/domain/run/Run"
import { approvalTable, type RequestRow, type RequestTable, inputTable } from "./RequestTable.ts"
import { readableRows } from "../store/ListPage.ts"
import { offerColumns } from "../device/DeviceRow.ts"
import { offeredModes } from "./OfferRefusal.ts"
import { type PlanApproval, recordPlanApproval } from "./PlanTask.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

/** A request with the project and target of its run. */
type Placed<Request> = Request & { readonly projectId: ProjectId; readonly targetId: DeviceId }

interface RequestFilter<State extends string> {
  readonly projectId?: ProjectId | undefined
  readonly runId?: RunId | undefined
  readonly state?: State | undefined
}

interface RequestReads<Id extends string, Request, State extends string> {
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

const requestReads = <Id extends string, Request extends { readonly id: Id }, State extends string>(
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

interface InputReads extends RequestReads<InputRequestId, InputRequest, InputState> {
  /** Records an approval before it is sent: the message that continues the work is written only for users who have approved here. */
  readonly recordApproval: (
    id: InputRequestId,
    userId: UserId,
    approval: PlanApproval
  ) => Effect.Effect<void, SqlError.SqlError>
  /** What does not fit in an approval by the last offer of the run's device. */
  readonly findPlanModeIssues: (
    input: InputRequest,
    answer: InputAnswer
  ) => Effect.Effect<ReadonlyArray<AnswerIssue>, SqlError.SqlError>
}

export class Inputs extends Context.Service<Inputs, InputReads>()("corral/hub/Inputs") {
  static readonly layer = Layer.effect(
    Inputs,
    Effect.map(SqlClient.SqlClient, (sql) =>
      Inputs.of({
        ...requestReads(sql, inputTable),
        recordApproval: (id, userId, approval) => recordPlanApproval(sql, id, userId, approval),
        findPlanModeIssues: (input, answer) => findPlanModeIssues(sql, input, answer)
      })
    )
  )
}

/**
 * Check of the mode that an approval of a plan chooses, against the last offer of the run's device.
 *
 * Does not replace the check on the Edge, which has its settings at that moment. A Hub may be newer than the Edge.
 */
const { agents, workspaces } = offerColumns

const planRows = storedRows(
  "runs, devices",
  Schema.Struct({
    made: jsonColumn(CreateRun),
    agents: Schema.NullOr(agents),
    workspaces: Schema.NullOr(workspaces)
  })
)

const findPlanModeIssues = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { runId }: InputRequest,
  answer: InputAnswer
): Effect.fn.Return<ReadonlyArray<AnswerIssue>, SqlError.SqlError> {
  if (!("approve" in answer) || !answer.approve) return []
  const row = yield* planRows.first(sql`
    SELECT made, agents, workspaces FROM runs JOIN devices ON devices.id = runs.target_id WHERE runs.id = ${runId}`)
  if (row?.agents == null || row.workspaces === null) return []
  const offered = offeredModes({ agents: row.agents, workspaces: row.workspaces }, row.made)
  return offered === undefined ? [] : planModeIssues(answer, row.made.mode, offered)
})
