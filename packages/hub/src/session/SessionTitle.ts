/** Title that a session without one gets from its first message. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { titleFrom } from "@corral/domain/session/Session"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

export const titleSession = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  text: string
): Effect.Effect<void, SqlError.SqlError> => {
  const title = titleFrom(text)
  return title === undefined
    ? Effect.void
    : Effect.asVoid(sql`
        UPDATE sessions SET title = ${title}, titled = true WHERE id = ${sessionId} AND NOT titled`)
}
