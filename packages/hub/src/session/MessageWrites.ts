/**
 * Statements that add and change messages. Each takes the next version of the session and sends a notice.
 *
 * Locks are taken in the order project, run, task, session, message. The project comes first because PostgreSQL checks the session's reference to
 * it when a transaction updates the session a second time.
 */
import type { MessageId, SessionId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { channels } from "../store/Notice.ts"
import { storedRows } from "../store/StoredRows.ts"
import { MESSAGE_COLUMNS, type MessageRow, messageRows } from "./MessageRow.ts"

const versionRows = storedRows("sessions", Schema.Struct({ message_version: Schema.Int }))

/** The next version of the session's messages. Locks the session, so versions become visible in their order. */
const nextVersion = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, sessionId: SessionId) {
  const row = yield* versionRows.first(sql`
    UPDATE sessions SET message_version = message_version + 1 WHERE id = ${sessionId} RETURNING message_version`)
  // Only after the project was deleted; its messages are gone too.
  return row?.message_version ?? 0
})

/** For a `RETURNING` clause. */
const messageNotice = (sql: SqlClient.SqlClient) =>
  sql`pg_notify(${channels.message}, session_id || ' ' || id)`

/** Adds a message. Returns nothing where a message of the same id, or an answer of the same run, exists. */
export const insertMessage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  row: Omit<MessageRow, "version">
): Effect.fn.Return<MessageRow | undefined, SqlError.SqlError> {
  const version = yield* nextVersion(sql, row.session_id)
  const stored = { ...row, version, error: row.error === null ? null : JSON.stringify(row.error) }
  return yield* messageRows.first(sql`
    INSERT INTO messages ${sql.insert(stored)} ON CONFLICT DO NOTHING
    RETURNING ${sql.literal(MESSAGE_COLUMNS)}, ${messageNotice(sql)}`)
})

/** Changes a message if the condition still holds. Returns nothing where it does not. */
export const changeMessage = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  id: MessageId,
  change: Statement.Fragment,
  condition: Statement.Fragment
): Effect.fn.Return<MessageRow | undefined, SqlError.SqlError> {
  const version = yield* nextVersion(sql, sessionId)
  return yield* messageRows.first(sql`
    UPDATE messages SET version = ${version}, ${change} WHERE session_id = ${sessionId} AND id = ${id} AND ${condition}
    RETURNING ${sql.literal(MESSAGE_COLUMNS)}, ${messageNotice(sql)}`)
})
