/**
 * What a push changes in the conversation of its run's session, in the transaction of the push: messages become delivered once the log contains
 * them, and the text of each turn becomes a message of its agent. The end of a run adds one only if its text is new.
 *
 * Guarantees: an answer is added once, and so is the message that follows the approval of a plan. Further input that the log of an ended run does not contain becomes the next turn of its agent.
 */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import {
  AgentInstanceId,
  MessageId,
  type RunId,
  type SessionId,
  TaskId,
  type UserId
} from "@corral/domain/identity/Ids"
import { CreateRun, type RunFailure, RunMode } from "@corral/domain/run/Run"
import type { AnswerOutcome } from "@corral/domain/session/Message"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import {
  changeMessage,
  holdMessages,
  insertMessage,
  MESSAGE_COLUMNS,
  noteColumns,
  userMessageRows
} from "../session/MessageStore.ts"
import { limitColumnsOf, touchSession } from "../session/SessionTable.ts"
import { derivedId } from "@corral/service/Identifiers"
import { announced } from "../store/Notices.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { jsonColumn, storableText, storedRows } from "../store/StoredRows.ts"
import { truncateResult } from "./MirroredRun.ts"
import { failedBeforeOutput, findApprovedPlan } from "./PlanTask.ts"
import type { PushedRun } from "./PushedRun.ts"

// A run of a session, whose task belongs to an agent, during a push.

interface TalkingRun {
  readonly run: PushedRun
  readonly id: RunId
  readonly sessionId: SessionId
  readonly taskId: TaskId
}

const taskTurnRows = storedRows(
  "tasks",
  Schema.Struct({
    agent_instance_id: Schema.NullOr(AgentInstanceId),
    message_id: Schema.NullOr(MessageId),
    mode: Schema.NullOr(RunMode),
    /** The task of the message now: another one, after the message was sent again. */
    latest_task: Schema.NullOr(TaskId)
  })
)

const startsNow = ({ lastSeq, row }: PushedRun): boolean => row.last_seq === 0 && lastSeq > 0
/** Whether the events change the conversation of a run that belongs to one. */
export const concernsConversation = (run: PushedRun): boolean =>
  run.row.session_id !== null &&
  run.row.task_id !== null &&
  (startsNow(run) ||
    run.mirror.isEnded ||
    run.mirror.hasTurnChanged ||
    run.mirror.endedTurns.length > 0 ||
    run.inputs.length > 0)

/** In the order of sessions, so that two pushes never deadlock. */
export const storeConversationChanges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<PushedRun>,
  at: Date
) {
  const talking = runs.flatMap((run): ReadonlyArray<TalkingRun> => {
    const { id, session_id: sessionId, task_id: taskId } = run.row
    return sessionId === null || taskId === null || !concernsConversation(run)
      ? []
      : [{ run, id, sessionId, taskId }]
  })
  const inOrder = talking.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1))
  for (const each of inOrder) yield* storeChanges(sql, each, at)
})

const storeChanges = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, talking: TalkingRun, at: Date) {
  const { id, run, sessionId, taskId } = talking
  const turn = yield* taskTurnRows.first(
    sql`
      SELECT t.agent_instance_id, t.message_id, m.mode, m.task_id AS latest_task
      FROM tasks t LEFT JOIN messages m ON m.session_id = ${sessionId} AND m.id = t.message_id WHERE t.id = ${taskId}`
  )
  if (turn === undefined) return
  if (startsNow(run) && turn.message_id !== null) {
    if (turn.latest_task !== taskId) yield* cancelLaterAttempt(sql, talking, turn.message_id, at)
    yield* markDelivered(sql, talking, turn.message_id)
  }
  for (const input of run.inputs)
    yield* changeMessage(
      sql,
      sessionId,
      input,
      sql`delivery = 'delivered'`,
      sql`delivery = 'pending' AND to_run_id = ${id}`
    )
  const { agent_instance_id: agentId, message_id, mode } = turn
  if (agentId === null) return
  yield* addTurnTexts(sql, talking, agentId, at)
  if (run.mirror.hasTurnChanged || run.mirror.isEnded) yield* reconsiderWaiting(sql, talking, agentId)
  if (!run.mirror.isEnded) return
  yield* endRun(sql, talking, agentId, message_id, at)
  if (run.mirror.state === "completed" && mode !== null && endsWithPlan(mode))
    yield* continueAfterPlan(sql, { ...talking, agentId }, at)
})

/** The start counted as failed because its answer did not come: a second attempt that has not started is cancelled. */
const cancelLaterAttempt = (
  sql: SqlClient.SqlClient,
  { sessionId, taskId }: TalkingRun,
  messageId: MessageId,
  at: Date
) =>
  announced(
    sql,
    "task",
    sql`
      UPDATE tasks SET state = 'cancelled', updated_at = ${at}
      WHERE id = (SELECT task_id FROM messages WHERE session_id = ${sessionId} AND id = ${messageId})
        AND id <> ${taskId} AND run_id IS NULL AND state IN ${waitingTaskStates(sql)} RETURNING id`
  )

const markDelivered = (
  sql: SqlClient.SqlClient,
  { id, sessionId, taskId }: TalkingRun,
  messageId: MessageId
) =>
  changeMessage(
    sql,
    sessionId,
    messageId,
    sql`delivery = 'delivered', to_run_id = ${id}, task_id = ${taskId}, error = NULL`,
    sql`delivery IN ('pending', 'failed')`
  )

const endRun = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  talking: TalkingRun,
  agentId: AgentInstanceId,
  messageId: MessageId | null,
  at: Date
) {
  const { id, run, sessionId } = talking
  const { summary } = run.mirror
  // Locks the session before the further input is read: what is sent later sees the end of the run.
  const touched = yield* touchSession(sql, run.row.project_id, sessionId, at)
  if (touched === undefined) return
  yield* releaseInputs(sql, sessionId, id)
  if (summary.runtimeSessionId !== undefined)
    yield* sql`
      UPDATE session_agents SET conversation_run_id = ${id} WHERE session_id = ${sessionId} AND id = ${agentId}`
  if (messageId !== null && (yield* replacesResume(sql, talking, messageId))) return
  const { cancelledBy, state } = run.mirror
  if (state !== "completed") {
    const by = cancelledBy === undefined ? {} : { by: cancelledBy as UserId }
    const reason = state === "cancelled" ? "stopped" : "failed"
    const code = state === "failed" && summary.error !== undefined ? { code: summary.error.code } : {}
    yield* holdMessages(sql, sessionId, agentId, { reason, ...by, ...code, since: at.toISOString() })
  }
  if (yield* keepAsAnswer(sql, talking, answerOf(run))) return
  yield* insertMessage(sql, {
    ...noteColumns,
    // The time of the Hub, since messages are in the order of their ids.
    id: derivedId<MessageId>("msg", touched.updated_at.getTime(), id),
    session_id: sessionId,
    user_id: null,
    agent_instance_id: agentId,
    text: answerOf(run),
    run_id: id,
    error: state === "failed" ? (summary.error ?? null) : null,
    // An ended run has one of these states.
    outcome: state as AnswerOutcome,
    created_at: touched.updated_at
  })
})

/** Further input that is not in the complete log starts the next turn. */
export const releaseInputs = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  runId: RunId
) {
  const missed = yield* userMessageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages
    WHERE session_id = ${sessionId} AND to_run_id = ${runId} AND delivery = 'pending' AND send_when = 'now' ORDER BY id`)
  for (const { id } of missed) {
    yield* changeMessage(
      sql,
      sessionId,
      id,
      sql`send_when = 'next', to_run_id = NULL, waits_for = NULL`,
      sql`delivery = 'pending'`
    )
    yield* sql`DELETE FROM run_requesters WHERE run_id = ${runId} AND input = ${id}`
  }
})

/** Failures that say nothing about the conversation: the runtime may have acted on the message. */
const isOfEdge = ({ code, details }: RunFailure): boolean =>
  code === "run_timeout" ||
  code === "budget_exceeded" ||
  details?.["reason"] === "edge_restarted" ||
  details?.["reason"] === "store_failed"

/** A runtime that could not continue its conversation said nothing: the message starts a new run, with the conversation as a text. */
const replacesResume = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, run, sessionId }: TalkingRun,
  messageId: MessageId
) {
  const { error } = run.mirror.summary
  if (run.mirror.state !== "failed" || (error !== undefined && isOfEdge(error))) return false
  if (!(yield* failedBeforeOutput(sql, id, run.lastSeq))) return false
  const returned = yield* changeMessage(
    sql,
    sessionId,
    messageId,
    sql`delivery = 'pending', context = 'transcript', task_id = NULL, to_run_id = NULL, attempt = attempt + 1`,
    sql`delivery = 'delivered' AND context = 'resumed' AND to_run_id = ${id}`
  )
  if (returned === undefined) return false
  yield* sql`UPDATE runs SET replaced_for = ${messageId} WHERE id = ${id}`
  return true
})

const answerOf = ({ mirror: { state, summary } }: PushedRun): string => {
  const text =
    state === "completed"
      ? (summary.resultText ?? "")
      : (summary.error?.message ?? (state === "failed" ? "The run failed." : "The run was cancelled."))
  return storableText(text)
}

const requestRows = storedRows("runs", Schema.Struct({ made: jsonColumn(CreateRun) }))

/** Adds the message if the run ended because its plan was approved. It has the model and the limits of that run. */
const continueAfterPlan = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { agentId, id: runId, run, sessionId }: TalkingRun & { readonly agentId: AgentInstanceId },
  at: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const plan = yield* findApprovedPlan(sql, run)
  if (plan === undefined) return
  const session = yield* touchSession(sql, run.row.project_id, sessionId, at)
  if (session?.state !== "active") return
  const request = yield* requestRows.first(sql`SELECT made FROM runs WHERE id = ${runId}`)
  yield* insertMessage(sql, {
    ...noteColumns,
    ...limitColumnsOf(request?.made ?? {}),
    id: derivedId<MessageId>("msg", session.updated_at.getTime(), `${runId} plan`),
    session_id: sessionId,
    user_id: plan.author,
    agent_instance_id: null,
    text: plan.isRemembered ? plan.texts.resumed : plan.texts.whole,
    recipient: agentId,
    send_when: "next",
    mode: plan.mode,
    model: request?.made.model ?? null,
    on_offline: "queue",
    delivery: "pending",
    created_at: session.updated_at
  })
})

/** Adds the texts of the turns after which the run continued. */
const addTurnTexts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, run, sessionId }: TalkingRun,
  agentId: AgentInstanceId,
  at: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  for (const { outstanding, text = "", turn } of run.mirror.endedTurns) {
    if (text.trim() === "") continue
    // Each with the next time of the session, so that the messages are in the order of the turns.
    const touched = yield* touchSession(sql, run.row.project_id, sessionId, at)
    if (touched === undefined) return
    yield* insertMessage(sql, {
      ...noteColumns,
      id: derivedId<MessageId>("msg", touched.updated_at.getTime(), `${id} ${turn}`),
      session_id: sessionId,
      user_id: null,
      agent_instance_id: agentId,
      text: storableText(truncateResult(text)),
      run_id: id,
      turn,
      outstanding,
      created_at: touched.updated_at
    })
  }
})

const lastTextRows = storedRows("messages", Schema.Struct({ id: MessageId, text: Schema.String }))

/** Makes the text of the last turn the answer of the ended run. `false` where it is not the same text. */
const keepAsAnswer = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { id, run, sessionId }: TalkingRun,
  answer: string
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const { hasTurns, state } = run.mirror
  if (!hasTurns || state !== "completed") return false
  const last = yield* lastTextRows.first(sql`
    SELECT id, text FROM messages
    WHERE session_id = ${sessionId} AND run_id = ${id} AND turn IS NOT NULL ORDER BY turn DESC LIMIT 1`)
  if (last?.text !== answer) return false
  const outcome: AnswerOutcome = state
  yield* changeMessage(
    sql,
    sessionId,
    last.id,
    sql`outcome = ${outcome}, turn = NULL, outstanding = NULL`,
    sql`outcome IS NULL`
  )
  return true
})

const waitingRows = storedRows("messages", Schema.Struct({ id: MessageId }))

/** The reasons why messages wait are no longer known: the run has another turn or other questions. */
const reconsiderWaiting = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { sessionId }: TalkingRun,
  agentId: AgentInstanceId
): Effect.fn.Return<void, SqlError.SqlError> {
  const waiting = yield* waitingRows.all(sql`
    SELECT id FROM messages
    WHERE session_id = ${sessionId} AND recipient = ${agentId} AND delivery = 'pending' AND waits_for IS NOT NULL
    ORDER BY id`)
  for (const { id } of waiting)
    yield* changeMessage(sql, sessionId, id, sql`waits_for = NULL`, sql`waits_for IS NOT NULL`)
})
