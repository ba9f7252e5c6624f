/**
 * Check of the mode that an approval of a plan chooses, against the last offer of the run's device.
 *
 * Does not replace the check on the Edge, which has its settings at that moment. A Hub may be newer than the Edge.
 */
import type { AnswerIssue } from "@corral/domain/input/AnswerCheck"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { planModeIssues } from "@corral/domain/input/PlanMode"
import { CreateRun } from "@corral/domain/run/Run"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { offerColumns } from "../device/StoredOffer.ts"
import { offeredModes } from "../run/OfferRefusal.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

const { agents, workspaces } = offerColumns

const planRows = storedRows(
  "runs, devices",
  Schema.Struct({
    made: jsonColumn(CreateRun),
    agents: Schema.NullOr(agents),
    workspaces: Schema.NullOr(workspaces)
  })
)

export const findPlanModeIssues = Effect.fnUntraced(function* (
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
