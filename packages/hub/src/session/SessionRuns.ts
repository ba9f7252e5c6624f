/** What a session knows of runs: which of them are its own, and which are not over. */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** The session's runs that are not over. */
export const activeRunsOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId
): Effect.Effect<ReadonlyArray<RunId>, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly id: RunId }>`
      SELECT id FROM runs WHERE session_id = ${sessionId} AND state NOT IN ('completed', 'failed', 'cancelled') ORDER BY id`,
    (rows) => rows.map(({ id }) => id)
  )

/** Whether it is a run of that session. */
export const isRunOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  runId: RunId
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql`SELECT 1 FROM runs WHERE id = ${runId} AND session_id = ${sessionId}`,
    (rows) => rows.length > 0
  )
