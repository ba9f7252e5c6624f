/**
 * Check that a database has no migrations of a later version. Later migrations may have changed what this version reads and writes, so a service does
 * not start on it.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** `table`: of the applied migrations. `applicable`: names of this version's migrations, such as `0001_people`. Returns a sentence, or `undefined`. */
export const newerDatabaseProblem = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  table: string,
  applicable: ReadonlyArray<string>
): Effect.fn.Return<string | undefined, SqlError.SqlError> {
  const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS exists`
  if (found?.exists !== true) return undefined
  const newest = Math.max(0, ...applicable.map((name) => Number(name.slice(0, 4))))
  const [later] = yield* sql<{ readonly name: string }>`
    SELECT name FROM ${sql(table)} WHERE migration_id > ${newest} ORDER BY migration_id DESC LIMIT 1`
  return later === undefined
    ? undefined
    : `The database belongs to a later version of Corral: it has the migration ${later.name}. Start that version, or restore the backup that was made before its upgrade.`
})
