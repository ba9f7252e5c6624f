/** Lock on an active session, taken before each addition to it. */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SessionState } from "@corral/domain/session/Session"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { lockProject } from "../project/ProjectLock.ts"
import { sessionChangeRows } from "./SessionRow.ts"

export const readOnlyConflict = (state: SessionState) =>
  new Conflict({ message: `The session is ${state} and can't be changed.` })

/** Locks the session until the transaction ends, and makes it the latest of its list. `undefined` after the project was deleted. */
export const touchSession = (
  sql: SqlClient.SqlClient,
  projectId: string,
  id: SessionId,
  now: Date
): Effect.Effect<
  { readonly state: SessionState; readonly updated_at: Date } | undefined,
  SqlError.SqlError
> =>
  sessionChangeRows.first(sql`
    UPDATE sessions SET updated_at = GREATEST(updated_at + interval '1 millisecond', ${now})
    WHERE id = ${id} AND project_id = ${projectId} RETURNING state, updated_at`)

/**
 * Locks the session until the transaction ends, and makes it the latest of its list. Returns the time of the addition, later than every
 * earlier one, so ids from it are in the order of the additions.
 */
export const lockActiveSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  proof: Proof<"session.write">,
  id: SessionId,
  now: Date
): Effect.fn.Return<Date, Conflict | PermissionDenied | SqlError.SqlError> {
  yield* lockProject(sql, proof.subject)
  const row = yield* touchSession(sql, proof.subject, id, now)
  // The project was deleted since the proof was made.
  if (row === undefined) return yield* new PermissionDenied()
  return row.state === "active" ? row.updated_at : yield* readOnlyConflict(row.state)
})
