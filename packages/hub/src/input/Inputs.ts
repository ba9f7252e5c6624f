/**
 * Questions, forms and plans as the Hub mirrors them. Read only, except for the record of who approves a plan.
 *
 * Does not answer: the first valid answer wins at the Edge, and an event reports it. The Edge checks the mode that an approval chooses again.
 */
import type { InputRequestId, UserId } from "@corral/domain/identity/Ids"
import { type AnswerIssue, planModeIssues } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer, InputRequest, InputState } from "@corral/domain/input/InputRequest"
import { CreateRun } from "@corral/domain/run/Run"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type RequestReads, requestReads } from "../approval/Approvals.ts"
import { offerColumns } from "../device/DeviceRow.ts"
import { offeredModes } from "../run/OfferRefusal.ts"
import { type PlanApproval, recordPlanApproval } from "../run/PlanTask.ts"
import { inputTable } from "../run/RequestTable.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

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
