/**
 * Statements that add and change messages. Each takes the next version of the session and sends a notice.
 *
 * Locks are taken in the order project, run, task, session, message. The project comes first because PostgreSQL checks the session's reference to
 * it when a transaction updates the session a second time.
 */
import type { MessageId, SessionId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { notify } from "../store/Notice.ts"
import { storedRows } from "../store/StoredRows.ts"
import { MESSAGE_COLUMNS, type MessageRow, messageRows } from "./MessageRow.ts"

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
  const stored = { ...row, version, attachments, error }
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
