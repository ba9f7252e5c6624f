/** Runs of a session. */
import { RunId, type SessionId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { endedRunStates } from "../store/StateLists.ts"

const activeRunRows = storedRows("runs", Schema.Struct({ id: RunId }))

/** Runs in progress. */
export const activeRunsOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId
): Effect.Effect<ReadonlyArray<RunId>, SqlError.SqlError> =>
  Effect.map(
    activeRunRows.all(sql`
      SELECT id FROM runs WHERE session_id = ${sessionId} AND state NOT IN ${endedRunStates(sql)} ORDER BY id`),
    (rows) => rows.map(({ id }) => id)
  )

/** Whether a run belongs to the session. */
export const isRunOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  runId: RunId
): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql`SELECT 1 FROM runs WHERE id = ${runId} AND session_id = ${sessionId}`,
    (rows) => rows.length > 0
  )
