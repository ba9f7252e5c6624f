/**
 * Inspection of a Hub's database, for an operator. Reads only; the measured commits write no table. Runs beside live Hubs, without starting one.
 *
 * Guarantees: every statement ends within `STATEMENT_TIMEOUT`. A part that fails is a finding, and the others are inspected all the same.
 */
import { databaseProblem } from "@corral/service/DatabaseStart"
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { join } from "node:path"
import type { HubConfig } from "../config/HubConfig.ts"
import { HubStoreUnavailable, findEmbeddedPostgres } from "../store/EmbeddedPostgres.ts"
import { storedRows } from "../store/StoredRows.ts"
import { migratedIndexes, migrationNames } from "../store/migrations.ts"
import {
  type DatabaseFinding,
  good,
  inspectCommits,
  inspectServer,
  inspectStatements,
  inspectTables,
  problem,
  quantityOf,
  sizeText,
  unknown
} from "./Findings.ts"

const STATEMENT_TIMEOUT = "10s"

/** Findings by the part that they are about, in the order of a report. */
export interface InspectedPart {
  readonly part: "server" | "schema" | "replication" | "statements" | "tables"
  readonly findings: ReadonlyArray<DatabaseFinding>
}

const addressOf = Effect.fnUntraced(function* ({ databaseUrl, home }: HubConfig) {
  if (databaseUrl !== undefined) return { url: databaseUrl }
  const found = yield* Effect.promise(() => findEmbeddedPostgres(join(home, "postgres")))
  if (found !== undefined) return found
  return yield* new HubStoreUnavailable({
    message: "The Hub's own database does not run. It runs with the Hub: start the Hub first."
  })
})

/** Fails if the database can't be reached. */
export const inspectDatabase = Effect.fn("Inspection.inspectDatabase")(
  function* (config: HubConfig) {
    const address = yield* addressOf(config)
    const sql = yield* PgClient.make({
      ...address,
      applicationName: "corral hub doctor",
      connectTimeout: Duration.seconds(10),
      maxConnections: 1,
      startupParameters: { statement_timeout: STATEMENT_TIMEOUT }
    })
    return yield* inspectParts(sql)
  },
  Effect.scoped,
  Effect.provide(Reactivity.layer)
)

/** `error`: the sentence for an operator. */
const failed = (error: SqlError.SqlError): ReadonlyArray<DatabaseFinding> => [
  unknown(
    databaseProblem(error, undefined),
    "If it lacks rights, grant pg_monitor to the database user of the Hub."
  )
]

const inspectParts = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const orFailed = (findings: Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError>) =>
    findings.pipe(Effect.catch((error) => Effect.succeed(failed(error))))
  const server = yield* inspectServer(sql)
  const schema = yield* inspectSchema(sql)
  const replication = yield* orFailed(inspectReplication(sql))
  const statements = yield* orFailed(inspectStatements(sql))
  const tables = schema.isMigrated ? yield* orFailed(inspectTables(sql)) : []
  // Last: it may wait.
  const commits = schema.isMigrated && !server.isStandby ? [yield* inspectCommits(sql)] : []
  const parts: ReadonlyArray<InspectedPart> = [
    { part: "server", findings: [...server.findings, ...commits] },
    { part: "schema", findings: schema.findings },
    { part: "replication", findings: replication },
    { part: "statements", findings: statements },
    { part: "tables", findings: tables }
  ]
  return parts
})

/** Migrations and indexes of the database, compared with those of this version. */
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
interface InspectedSchema {
  readonly findings: ReadonlyArray<DatabaseFinding>
  readonly isMigrated: boolean
}

const UNUSED = problem("No Hub has used this database yet.", "Start a Hub, or run `corral hub migrate`.")

const inspectSchema = (sql: SqlClient.SqlClient): Effect.Effect<InspectedSchema, SqlError.SqlError> =>
  Effect.gen(function* () {
    const table = yield* tableRows.first(sql`SELECT to_regclass('corral_migrations') IS NOT NULL AS present`)
    if (table?.present !== true) return { findings: [UNUSED], isMigrated: false }
    const applied = yield* migrationRows.all(sql`SELECT name FROM corral_migrations`)
    const migrations = migrationFinding(applied.map(({ name }) => name))
    const isMigrated = migrations.state === "good"
    return { findings: isMigrated ? [migrations, yield* indexFinding(sql)] : [migrations], isMigrated }
  })

/** A standby that is further behind takes long to become primary. */
const LAG_LIMIT_BYTES = 64 * 1_048_576
/** Log that the server keeps for a standby that is gone. It fills the disk. */
const KEPT_LIMIT_BYTES = 1_073_741_824

const Standby = Schema.Struct({
  name: Schema.String,
  state: Schema.NullOr(Schema.String),
  sync: Schema.NullOr(Schema.String),
  behind: Schema.NullOr(Schema.Number)
})
type Standby = typeof Standby.Type

const standbyRows = storedRows("pg_stat_replication", Standby)
const synchronousRows = storedRows("pg_settings", Schema.Struct({ names: Schema.String }))
const slotRows = storedRows(
  "pg_replication_slots",
  Schema.Struct({ name: Schema.String, bytes: Schema.Number })
)

const standbyFinding = ({ behind, name, state, sync }: Standby): DatabaseFinding => {
  if (behind === null || state === null)
    return unknown(
      `Standby ${name}: its state is not visible to this user.`,
      "Grant pg_monitor to the database user of the Hub."
    )
  const message = `Standby ${name} (${sync ?? "async"}, ${state}) is ${sizeText(behind)} behind`
  return state !== "streaming" || behind > LAG_LIMIT_BYTES
    ? problem(`${message}.`, "Look at the network and the disk of that machine.")
    : good(message)
}

const synchronousFinding = (names: string, standbys: ReadonlyArray<Standby>): DatabaseFinding => {
  if (names === "")
    return standbys.length === 0
      ? good("No standby")
      : problem(
          "Commits wait for no standby: a failure of the primary loses the last changes.",
          "Set synchronous_standby_names, or synchronous_mode of Patroni."
        )
  return standbys.some(({ sync }) => sync === "sync" || sync === "quorum")
    ? good("Commits wait for a synchronous standby")
    : problem(
        "Every commit waits: synchronous_standby_names is set, and no synchronous standby is connected.",
        "Start a standby. Without one the Hubs can't write."
      )
}

const inspectReplication = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.gen(function* () {
    const standbys = yield* standbyRows.all(sql`
      SELECT application_name AS name, state, sync_state AS sync,
        CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 END AS behind
      FROM pg_stat_replication ORDER BY application_name`)
    const synchronous = yield* synchronousRows.first(
      sql`SELECT current_setting('synchronous_standby_names') AS names`
    )
    const unused = yield* slotRows.all(sql`
      SELECT slot_name::text AS name, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 AS bytes
      FROM pg_replication_slots
      WHERE NOT active AND NOT pg_is_in_recovery() AND restart_lsn IS NOT NULL`)
    const large = unused.filter(({ bytes }) => bytes > KEPT_LIMIT_BYTES)
    return [
      synchronousFinding(synchronous?.names ?? "", standbys),
      ...standbys.map(standbyFinding),
      ...large.map(({ bytes, name }) =>
        problem(
          `The server keeps ${sizeText(bytes)} of its log for ${name}, which is not connected.`,
          "Start that standby, or drop its replication slot."
        )
      ),
      ...(unused.length > 0 && large.length === 0
        ? [good(`${quantityOf(unused.length, "replication slot")} without a standby`)]
        : [])
    ]
  })
