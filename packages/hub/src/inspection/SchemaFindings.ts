/** Migrations and indexes of the database, compared with those of this version. */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { migratedIndexes, migrationNames } from "../store/migrations.ts"
import { storedRows } from "../store/StoredRows.ts"
import { quantityOf, type DatabaseFinding, good, problem } from "./DatabaseFinding.ts"

const tableRows = storedRows("pg_class", Schema.Struct({ present: Schema.Boolean }))
const migrationRows = storedRows("corral_migrations", Schema.Struct({ name: Schema.String }))
const indexRows = storedRows("pg_index", Schema.Struct({ name: Schema.String, valid: Schema.Boolean }))

const migrationFinding = (applied: ReadonlyArray<string>): DatabaseFinding => {
  const missing = migrationNames.filter((name) => !applied.includes(name))
  const later = applied.filter((name) => !migrationNames.includes(name))
  if (later.length > 0)
    return problem(
      `The database is of a later version: it has ${quantityOf(later.length, "migration")} that this one does not know.`,
      "Use the version of the running Hubs."
    )
  return missing.length > 0
    ? problem(
        `${quantityOf(missing.length, "migration")} of this version are missing: ${missing.join(", ")}.`,
        "Run `corral hub migrate`, or start a Hub of this version."
      )
    : good(`All ${migrationNames.length} migrations are applied`)
}

const indexFinding = (sql: SqlClient.SqlClient): Effect.Effect<DatabaseFinding, SqlError.SqlError> =>
  Effect.map(
    indexRows.all(sql`
      SELECT c.relname::text AS name, i.indisvalid AND i.indisready AS valid
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE c.relnamespace = current_schema()::regnamespace`),
    (rows) => {
      const valid = new Set(rows.flatMap((row) => (row.valid ? [row.name] : [])))
      const invalid = rows.filter((row) => !row.valid).map(({ name }) => name)
      const missing = migratedIndexes().filter((name) => !valid.has(name) && !invalid.includes(name))
      if (missing.length > 0)
        return problem(
          `Indexes are missing: ${missing.join(", ")}.`,
          "Create them again as the migrations do: without them statements read whole tables."
        )
      return invalid.length > 0
        ? problem(
            `Indexes are not valid: ${invalid.join(", ")}.`,
            "Rebuild them with REINDEX INDEX CONCURRENTLY."
          )
        : good(`All ${rows.length} indexes are present and valid`)
    }
  )

/** Further checks fail where not all migrations are applied. */
export interface InspectedSchema {
  readonly findings: ReadonlyArray<DatabaseFinding>
  readonly isMigrated: boolean
}

const UNUSED = problem("No Hub has used this database yet.", "Start a Hub, or run `corral hub migrate`.")

export const inspectSchema = (sql: SqlClient.SqlClient): Effect.Effect<InspectedSchema, SqlError.SqlError> =>
  Effect.gen(function* () {
    const table = yield* tableRows.first(sql`SELECT to_regclass('corral_migrations') IS NOT NULL AS present`)
    if (table?.present !== true) return { findings: [UNUSED], isMigrated: false }
    const applied = yield* migrationRows.all(sql`SELECT name FROM corral_migrations`)
    const migrations = migrationFinding(applied.map(({ name }) => name))
    const isMigrated = migrations.state === "good"
    return { findings: isMigrated ? [migrations, yield* indexFinding(sql)] : [migrations], isMigrated }
  })
