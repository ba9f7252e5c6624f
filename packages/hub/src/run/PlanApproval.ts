/**
 * Approvals of plans, and the message that continues the work after one. A run that may not carry out its plan ends with it.
 *
 * Guarantees: the message is added once, with the end of its run. Its author has approved the plan over a Hub, with the same mode, or owns the
 * device on which it was approved: an event of an Edge alone writes no message in a user's name.
 */
import {
  type AgentInstanceId,
  type DeviceId,
  type InputRequestId,
  type MessageId,
  UserId
} from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/run/Run"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { noteColumns } from "../session/MessageRow.ts"
import { insertMessage } from "../session/MessageWrites.ts"
import { touchSession } from "../session/SessionLock.ts"
import { derivedId } from "../store/DerivedId.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { offerColumns } from "../device/StoredOffer.ts"
import { storableText } from "../store/StorableText.ts"
import { inputTable } from "./RequestTable.ts"
import type { TalkingRun } from "./TalkingRun.ts"

/** Mode in which a plan is carried out if its approval names none. */
const DEFAULT_MODE: RunMode = "ask"

export interface PlanApproval {
  readonly mode?: RunMode | undefined
  readonly comment?: string | undefined
}

const modeOf = ({ mode }: PlanApproval): RunMode => mode ?? DEFAULT_MODE

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
  { run: { mirror, row } }: EndedRun
) {
  if (mirror.summary.runtimeSessionId === undefined) return false
  const offer = yield* agentRows.first(sql`SELECT agents FROM devices WHERE id = ${row.target_id}`)
  return offer?.agents?.find(({ id }) => id === agentId)?.capabilities.resume === true
})

/** The end of a run of an agent. */
interface EndedRun extends TalkingRun {
  readonly agentId: AgentInstanceId
}

const APPROVED = "The plan was approved. Carry it out."

const textOf = (comment: string, plan: string | undefined): string =>
  storableText(
    [
      APPROVED,
      ...(comment.trim() === "" ? [] : [comment]),
      ...(plan === undefined ? [] : ["The plan:", plan])
    ].join("\n\n")
  )

/** Adds the message if the run ended because its plan was approved. */
export const continueAfterPlan = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  ended: EndedRun,
  at: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const { agentId, id: runId, run, sessionId } = ended
  const answered = yield* inputTable.rows.all(sql`
    SELECT ${sql.literal(inputTable.columns)} FROM inputs WHERE run_id = ${runId} AND state = 'answered' ORDER BY id`)
  const plan = answered.map(({ document }) => document).find(({ approved }) => approved === true)
  if (plan === undefined) return
  const author = yield* findAuthor(sql, run.row.target_id, plan)
  if (author === undefined)
    return yield* Effect.logWarning("ignored an approval of an unknown user", { runId })
  const session = yield* touchSession(sql, run.row.project_id, sessionId, at)
  if (session?.state !== "active") return
  const isRemembered = yield* remembers(sql, plan, ended)
  yield* insertMessage(sql, {
    ...noteColumns,
    id: derivedId<MessageId>("msg", session.updated_at.getTime(), `${runId} plan`),
    session_id: sessionId,
    user_id: author.user_id,
    agent_instance_id: null,
    text: textOf(author.comment, isRemembered ? undefined : plan.plan),
    recipient: agentId,
    send_when: "next",
    mode: modeOf(plan),
    on_offline: "queue",
    delivery: "pending",
    created_at: session.updated_at
  })
})
