/** Keeps a project from being removed while something is written that belongs to it. */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Until the transaction ends. One that was removed since its proof was made is refused as one that never was. */
export const holdProject = (
  sql: SqlClient.SqlClient,
  projectId: string
): Effect.Effect<void, PermissionDenied | SqlError.SqlError> =>
  Effect.flatMap(sql`SELECT 1 FROM projects WHERE id = ${projectId} FOR KEY SHARE`, ({ length }) =>
    length === 0 ? Effect.fail(new PermissionDenied()) : Effect.void
  )
