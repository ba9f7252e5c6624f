/**
 * Statements that add and change messages. Each takes the next version of the session and sends a notice. Also holds of a queue, and withdrawals when
 * a session closes.
 *
 * Locks are taken in the order project, run, task, session, message. The project comes first because PostgreSQL checks the session's reference to
 * it when a transaction updates the session a second time.
 */
import { type AgentInstanceId, MessageId, type SessionId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { announced, notify } from "../store/Notice.ts"
import { storedRows } from "../store/StoredRows.ts"
import { MESSAGE_COLUMNS, type MessageRow, messageRows } from "./MessageStore.ts"
import type { HeldQueue } from "@corral/domain/run/AgentProfile"
import { storedBudget } from "./TurnLimits.ts"
import { openTaskStates, waitingTaskStates } from "../store/StateLists.ts"

// Withdrawal of messages that no target has yet, when their session or their agent is closed to new turns.

/** Cancels the tasks of the session's messages that have no run yet. Call it before the session is locked. */
export const cancelWaitingMessages = (
  sql: SqlClient.SqlClient,
  projectId: string,
  sessionId: SessionId,
  now: Date
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    announced(
      sql,
      "task",
      sql`
    UPDATE tasks SET state = 'cancelled', updated_at = ${now} WHERE id IN (
      SELECT id FROM tasks WHERE session_id = ${sessionId} AND project_id = ${projectId} AND message_id IS NOT NULL
        AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL ORDER BY id FOR UPDATE
    ) RETURNING id`
    )
  )

/** Withdraws pending messages without a task in progress: those of one agent, or of the whole session. Call it with the session locked. */
export const withdrawUndelivered = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  recipient?: AgentInstanceId
) {
  const rows = yield* messageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages m
    WHERE session_id = ${sessionId} AND delivery = 'pending' AND to_run_id IS NULL
      ${recipient === undefined ? sql`` : sql`AND recipient = ${recipient}`}
      AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = m.task_id AND t.state IN ${openTaskStates(sql)})
    ORDER BY id`)
  for (const { id } of rows)
    yield* changeMessage(sql, sessionId, id, sql`delivery = 'withdrawn'`, sql`delivery = 'pending'`)
})

// Holds the queue of an agent after Stop or an error: the messages that wait then stay until a user continues or withdraws them.
//
// Guarantees: messages that are sent later, or again, do not wait for held ones.

const waitingRows = storedRows("messages", Schema.Struct({ id: MessageId }))

/** Call it with the session locked. */
export const holdMessages = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  agentId: AgentInstanceId,
  held: HeldQueue
): Effect.fn.Return<void, SqlError.SqlError> {
  const isWaiting = sql`delivery = 'pending' AND send_when = 'next' AND task_id IS NULL AND NOT held`
  const waiting = yield* waitingRows.all(
    sql`SELECT id FROM messages WHERE session_id = ${sessionId} AND recipient = ${agentId} AND ${isWaiting} ORDER BY id`
  )
  if (waiting.length === 0) return
  yield* sql`
    UPDATE session_agents SET held = ${JSON.stringify(held)} WHERE session_id = ${sessionId} AND id = ${agentId}`
  for (const { id } of waiting)
    yield* changeMessage(sql, sessionId, id, sql`held = TRUE, waits_for = NULL`, isWaiting)
})

const versionRows = storedRows("sessions", Schema.Struct({ message_version: Schema.Int }))

/** The next version of the session's messages where the condition holds. Locks the session, so versions become visible in their order. */
const nextVersion = (sql: SqlClient.SqlClient, sessionId: SessionId, condition: Statement.Fragment) =>
  Effect.map(
    versionRows.first(sql`
      UPDATE sessions SET message_version = message_version + 1 WHERE sessions.id = ${sessionId} AND ${condition}
      RETURNING message_version`),
    (row) => row?.message_version
  )

/** Reads the written message and sends its notice. */
const announcedMessage = (
  sql: SqlClient.SqlClient,
  statement: Effect.Effect<ReadonlyArray<object>, SqlError.SqlError>
) =>
  Effect.tap(messageRows.first(statement), (row) =>
    row === undefined ? Effect.void : notify(sql, "message", `${row.session_id} ${row.id}`)
  )

/** Adds a message. Returns nothing where a message of the same id, or an answer of the same run, exists. */
export const insertMessage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  row: Omit<MessageRow, "version">
): Effect.fn.Return<MessageRow | undefined, SqlError.SqlError> {
  const version = yield* nextVersion(sql, row.session_id, sql`TRUE`)
  // The project was deleted meanwhile, and its sessions with it.
  if (version === undefined) return undefined
  const attachments = JSON.stringify(row.attachments)
  const error = row.error === null ? null : JSON.stringify(row.error)
  const stored = { ...row, version, attachments, error, budget: storedBudget(row.budget) }
  return yield* announcedMessage(
    sql,
    sql`INSERT INTO messages ${sql.insert(stored)} ON CONFLICT DO NOTHING RETURNING ${sql.literal(MESSAGE_COLUMNS)}`
  )
})

/** Changes a message if the condition holds. Returns nothing, and leaves the session as it is, where it does not. */
export const changeMessage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  id: MessageId,
  change: Statement.Fragment,
  condition: Statement.Fragment
): Effect.fn.Return<MessageRow | undefined, SqlError.SqlError> {
  const matching = sql`session_id = ${sessionId} AND id = ${id} AND ${condition}`
  const version = yield* nextVersion(sql, sessionId, sql`EXISTS (SELECT 1 FROM messages WHERE ${matching})`)
  if (version === undefined) return undefined
  return yield* announcedMessage(
    sql,
    sql`
      UPDATE messages SET version = ${version}, ${change} WHERE ${matching}
      RETURNING ${sql.literal(MESSAGE_COLUMNS)}`
  )
})
