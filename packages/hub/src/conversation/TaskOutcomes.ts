/** Messages that did not reach a run: their task ended, or they expired before their turn. A message of an ended task may be delivered again. */
import { AgentInstanceId, MessageId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { RunFailure } from "@corral/domain/run/Run"
import { DeliveryContext } from "@corral/domain/session/Message"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { changeMessage, holdMessages } from "../session/MessageWrites.ts"
import { limitTo } from "../store/Limit.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { limitLockWait, sweepRows } from "../store/Sweep.ts"
import { lostTaskStates, lostStates } from "../store/StateLists.ts"

const EndedTask = Schema.Struct({
  session_id: SessionId,
  id: MessageId,
  task_id: TaskId,
  recipient: Schema.NullOr(AgentInstanceId),
  context: Schema.NullOr(DeliveryContext),
  state: Schema.Literals(lostStates),
  error: Schema.NullOr(jsonColumn(RunFailure))
})
type EndedTask = typeof EndedTask.Type

const endedRows = storedRows("messages, tasks", EndedTask)

const EXPIRED: RunFailure = {
  code: "target_offline",
  message: "The message expired before a run received it."
}
const UNKNOWN: RunFailure = { code: "internal", message: "The message could not be delivered." }

/** Messages per page. */
const PAGE = 200

/** Settles all such messages. */
export const settleEndedTasks = Effect.fn("TaskOutcomes.settleEndedTasks")(function* (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  yield* sweepRows({
    page: (after) =>
      endedRows.all(sql`
        SELECT m.session_id, m.id, m.task_id, m.recipient, m.context, t.state, t.error
        FROM messages m JOIN tasks t ON t.id = m.task_id
        WHERE m.delivery = 'pending' AND m.id > ${after} AND t.state IN ${lostTaskStates(sql)}
        ORDER BY m.id ${limitTo(sql, PAGE)}`),
    keyOf: ({ id }) => id,
    visit: (row, patienceMs) =>
      limitLockWait(sql, patienceMs).pipe(
        Effect.andThen(settle(sql, row, now)),
        sql.withTransaction,
        Effect.as(true)
      ),
    failure: "failed to settle the message of an ended task"
  })
})

const settle = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { context, error, id, recipient, session_id, state, task_id }: EndedTask,
  now: Date
) {
  const isStill = sql`delivery = 'pending' AND task_id = ${task_id}`
  if (state === "cancelled")
    return yield* changeMessage(sql, session_id, id, sql`delivery = 'withdrawn'`, isStill)
  // The Edge no longer has the run to resume: the message starts a new run.
  if (state === "failed" && context === "resumed" && error?.code === "schema_validation_failed") {
    const again = sql`context = 'transcript', task_id = NULL, attempt = attempt + 1`
    return yield* changeMessage(sql, session_id, id, again, isStill)
  }
  yield* sql`
    SELECT 1 FROM projects WHERE id = (SELECT project_id FROM sessions WHERE id = ${session_id}) FOR KEY SHARE`
  const failure = JSON.stringify(state === "expired" ? EXPIRED : (error ?? UNKNOWN))
  const failed = yield* changeMessage(
    sql,
    session_id,
    id,
    sql`delivery = 'failed', error = ${failure}`,
    isStill
  )
  if (failed !== undefined && recipient !== null)
    yield* holdMessages(sql, session_id, recipient, { reason: "failed", since: now.toISOString() })
  return failed
})

const expiredRows = storedRows("messages", Schema.Struct({ session_id: SessionId, id: MessageId }))

/** Fails the messages that have expired before their turn. */
export const failExpired = Effect.fn("TaskOutcomes.failExpired")(function* (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const error = JSON.stringify(EXPIRED)
  const failed = sql`delivery = 'failed', error = ${error}`
  const isStill = sql`delivery = 'pending' AND task_id IS NULL`
  yield* sweepRows({
    page: (after) =>
      expiredRows.all(sql`
        SELECT session_id, id FROM messages
        WHERE delivery = 'pending' AND id > ${after} AND task_id IS NULL AND send_when = 'next' AND expires_at <= ${now}
        ORDER BY id ${limitTo(sql, PAGE)}`),
    keyOf: ({ id }) => id,
    visit: ({ id, session_id }, patienceMs) =>
      limitLockWait(sql, patienceMs).pipe(
        Effect.andThen(changeMessage(sql, session_id, id, failed, isStill)),
        sql.withTransaction,
        Effect.as(true)
      ),
    failure: "failed to expire a message"
  })
})
