/** Messages that did not reach a run: their task ended, or they expired before their turn. A message of an ended task may be delivered again. */
import { MessageId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { RunFailure } from "@corral/domain/run/Run"
import { DeliveryContext } from "@corral/domain/session/Message"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { changeMessage } from "../session/MessageWrites.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

const EndedTask = Schema.Struct({
  session_id: SessionId,
  id: MessageId,
  task_id: TaskId,
  context: Schema.NullOr(DeliveryContext),
  state: Schema.Literals(["failed", "expired", "cancelled"]),
  error: Schema.NullOr(jsonColumn(RunFailure))
})
type EndedTask = typeof EndedTask.Type

const endedRows = storedRows("messages, tasks", EndedTask)

const EXPIRED: RunFailure = {
  code: "target_offline",
  message: "The message expired before a run received it."
}
const UNKNOWN: RunFailure = { code: "internal", message: "The message could not be delivered." }

/** Settles all such messages, and returns their number. */
export const settleEndedTasks = Effect.fn("Deliveries.settleEndedTasks")(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<number, SqlError.SqlError> {
  const ended = yield* endedRows.all(sql`
    SELECT m.session_id, m.id, m.task_id, m.context, t.state, t.error
    FROM messages m JOIN tasks t ON t.id = m.task_id
    WHERE m.delivery = 'pending' AND t.state IN ('failed', 'expired', 'cancelled') ORDER BY m.id LIMIT 200`)
  for (const row of ended) yield* sql.withTransaction(settle(sql, row))
  return ended.length
})

const settle = (sql: SqlClient.SqlClient, { context, error, id, session_id, state, task_id }: EndedTask) => {
  const isStill = sql`delivery = 'pending' AND task_id = ${task_id}`
  if (state === "cancelled") return changeMessage(sql, session_id, id, sql`delivery = 'withdrawn'`, isStill)
  // The Edge no longer has the run to resume: the message starts a new run.
  if (state === "failed" && context === "resumed" && error?.code === "schema_validation_failed") {
    const again = sql`context = 'transcript', task_id = NULL, attempt = attempt + 1`
    return changeMessage(sql, session_id, id, again, isStill)
  }
  const failure = JSON.stringify(state === "expired" ? EXPIRED : (error ?? UNKNOWN))
  return changeMessage(sql, session_id, id, sql`delivery = 'failed', error = ${failure}`, isStill)
}

const expiredRows = storedRows("messages", Schema.Struct({ session_id: SessionId, id: MessageId }))

/** Fails the messages that have expired before their turn. */
export const failExpired = Effect.fn("Deliveries.failExpired")(function* (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const expired = yield* expiredRows.all(sql`
    SELECT session_id, id FROM messages
    WHERE delivery = 'pending' AND task_id IS NULL AND send_when = 'next' AND expires_at <= ${now} ORDER BY id LIMIT 200`)
  const error = JSON.stringify(EXPIRED)
  for (const { id, session_id } of expired)
    yield* sql.withTransaction(
      changeMessage(
        sql,
        session_id,
        id,
        sql`delivery = 'failed', error = ${error}`,
        sql`delivery = 'pending' AND task_id IS NULL`
      )
    )
})
