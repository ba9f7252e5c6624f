/** Lock that prevents the deletion of a project while a transaction writes rows that belong to it. */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Holds until the transaction ends. A deleted project is refused like one that never existed. */
export const holdProject = (
  sql: SqlClient.SqlClient,
  projectId: string
): Effect.Effect<void, PermissionDenied | SqlError.SqlError> =>
  Effect.flatMap(sql`SELECT 1 FROM projects WHERE id = ${projectId} FOR KEY SHARE`, ({ length }) =>
    length === 0 ? Effect.fail(new PermissionDenied()) : Effect.void
  )
