/**
 * Inspection of a Hub's database, for an operator. Reads only; the measured commits write no table. Runs beside live Hubs, without starting one.
 *
 * Guarantees: every statement ends within `STATEMENT_TIMEOUT`. A part that fails is a finding, and the others are inspected all the same.
 */
import { databaseProblem } from "@corral/service/DatabaseProblem"
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { join } from "node:path"
import type { HubConfig } from "../config/HubConfig.ts"
import { findEmbeddedPostgres, HubStoreUnavailable } from "../store/EmbeddedPostgres.ts"
import { type DatabaseFinding, unknown } from "./DatabaseFinding.ts"
import { inspectReplication } from "./ReplicationFindings.ts"
import { inspectSchema } from "./SchemaFindings.ts"
import { inspectCommits, inspectServer } from "./ServerFindings.ts"
import { inspectStatements } from "./StatementFindings.ts"
import { inspectTables } from "./TableFindings.ts"

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
