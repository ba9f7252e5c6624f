/**
 * What a session knows of runs. The one place for it: runs come with their mirrored log, in a table `runs` that names their session.
 */
import type { RunId, SessionId } from "@corral/domain/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** The session's runs that are not over. None while no run is mirrored. */
export const activeRunsOf = (
  _sql: SqlClient.SqlClient,
  _sessionId: SessionId
): Effect.Effect<ReadonlyArray<RunId>, SqlError.SqlError> => Effect.succeed([])

/** Whether it is a run of that session. */
export const isRunOf = (
  _sql: SqlClient.SqlClient,
  _sessionId: SessionId,
  _runId: RunId
): Effect.Effect<boolean, SqlError.SqlError> => Effect.succeed(false)
