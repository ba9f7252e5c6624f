/**
 * How the end of a sign-in or an API key reaches every Hub on one database: a notification with its id, sent when the transaction that
 * ended it is committed. Whoever holds a socket of it closes that. Expiry by time sends nothing.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** The channel of PostgreSQL's LISTEN and NOTIFY; the payload is the id. */
export const SIGN_IN_ENDED = "corral_sign_in_ended"

export const tellEnded = (
  sql: SqlClient.SqlClient,
  signInId: string
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(sql`SELECT pg_notify(${SIGN_IN_ENDED}, ${signInId})`)
