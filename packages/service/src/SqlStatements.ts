/** Statements of a migration, in their order. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

export const executeAll = (
  statements: ReadonlyArray<string>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements) yield* sql.unsafe(statement)
  })
