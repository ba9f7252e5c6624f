/**
 * Approvals of plans: who has approved what, and the text that continues the work after one. A run that may not carry out its plan ends with it.
 *
 * Guarantees: the author of an approval has approved the plan over a Hub, with the same mode, or owns the device on which it was approved: an event
 * of an Edge alone starts nothing in a user's name.
 */
import { type DeviceId, type InputRequestId, UserId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { DEFAULT_PLAN_MODE } from "@corral/domain/input/PlanMode"
import type { RunMode } from "@corral/domain/run/Run"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { jsonColumn, storableText, storedRows } from "../store/StoredRows.ts"
import { offerColumns } from "../device/DeviceRow.ts"
import type { PushedRun } from "./PushedRun.ts"
import { inputTable } from "./RequestTable.ts"

export interface PlanApproval {
  readonly mode?: RunMode | undefined
  readonly comment?: string | undefined
}

const modeOf = ({ mode }: PlanApproval): RunMode => mode ?? DEFAULT_PLAN_MODE

export const recordPlanApproval = (
  sql: SqlClient.SqlClient,
  inputId: InputRequestId,
  userId: UserId,
  approval: PlanApproval
): Effect.Effect<void, SqlError.SqlError> => {
  const comment = JSON.stringify(approval.comment ?? "")
  const row = { input_id: inputId, user_id: userId, mode: modeOf(approval), comment }
  return Effect.asVoid(sql`
    INSERT INTO plan_approvals ${sql.insert(row)}
    ON CONFLICT (input_id, user_id, mode) DO UPDATE SET comment = excluded.comment`)
}

const authorRows = storedRows(
  "plan_approvals, devices",
  Schema.Struct({ user_id: UserId, comment: jsonColumn(Schema.String) })
)

/** By the owner of the Edge's token. */
const LOCAL = "local"

/** The user who approved the plan, and the user's comment. */
const findAuthor = (
  sql: SqlClient.SqlClient,
  targetId: DeviceId,
  { answeredBy, comment = "", id, mode }: InputRequest
) => {
  if (answeredBy === undefined) return Effect.undefined
  return answeredBy === LOCAL
    ? authorRows.first(
        sql`SELECT owner_id AS user_id, ${JSON.stringify(comment)} AS comment FROM devices WHERE id = ${targetId}`
      )
    : authorRows.first(sql`
        SELECT user_id, comment FROM plan_approvals
        WHERE input_id = ${id} AND user_id = ${answeredBy} AND mode = ${modeOf({ mode })}`)
}

const agentRows = storedRows("devices", Schema.Struct({ agents: Schema.NullOr(offerColumns.agents) }))

/** Whether the next run of the agent continues the conversation in which the plan was made. */
const remembers = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { agentId }: InputRequest,
  { mirror, row }: PushedRun
) {
  if (mirror.summary.runtimeSessionId === undefined) return false
  const offer = yield* agentRows.first(sql`SELECT agents FROM devices WHERE id = ${row.target_id}`)
  return offer?.agents?.find(({ id }) => id === agentId)?.capabilities.resume === true
})

const APPROVED = "The plan was approved. Carry it out."

const textOf = (comment: string, plan: string | undefined): string =>
  storableText(
    [
      APPROVED,
      ...(comment.trim() === "" ? [] : [comment]),
      ...(plan === undefined ? [] : ["The plan:", plan])
    ].join("\n\n")
  )

/** An approved plan, for the run that carries it out. */
export interface ApprovedPlan {
  readonly author: UserId
  readonly mode: RunMode
  /** Whether the agent can continue the conversation in which the plan was made. */
  readonly isRemembered: boolean
  /** The text for an agent that continues the conversation, and the text for one that does not. */
  readonly texts: { readonly resumed: string; readonly whole: string }
}

/** The plan that the run has ended with; `undefined` if none was approved, or if no user stands for the approval. */
export const findApprovedPlan = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: PushedRun
): Effect.fn.Return<ApprovedPlan | undefined, SqlError.SqlError> {
  const { id: runId, target_id } = run.row
  const answered = yield* inputTable.rows.all(sql`
    SELECT ${sql.literal(inputTable.columns)} FROM inputs WHERE run_id = ${runId} AND state = 'answered' ORDER BY id`)
  const plan = answered.map(({ document }) => document).find(({ approved }) => approved === true)
  if (plan === undefined) return undefined
  const author = yield* findAuthor(sql, target_id, plan)
  if (author === undefined) {
    yield* Effect.logWarning("ignored an approval of an unknown user", { runId })
    return undefined
  }
  const { comment, user_id } = author
  return {
    author: user_id,
    mode: modeOf(plan),
    isRemembered: yield* remembers(sql, plan, run),
    texts: { resumed: textOf(comment, undefined), whole: textOf(comment, plan.plan) }
  }
})
