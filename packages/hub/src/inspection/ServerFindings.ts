/** Version, role, connections, clock and commits of the database server. */
import { SLOW_COMMIT_MS } from "@corral/service/CommitTimes"
import { Clock, Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { HUB_APPLICATION } from "../store/OtherHubs.ts"
import { storedRows } from "../store/StoredRows.ts"
import { quantityOf, type DatabaseFinding, good, problem } from "./DatabaseFinding.ts"

/** Versions that the tests run on, 15 and 18, and those between them. */
const OLDEST = 15
const NEWEST = 18

/** A device's lease lasts a minute by the clocks of the Hubs. A difference of seconds ends leases too early or too late. */
const CLOCK_LIMIT_MS = 1_000
const COMMITS = 5
const COMMITS_WITHIN = "5 seconds"
const SLOW_COMMITS_HINT =
  "Look at the disk of the server, and at its synchronous standby: each change waits for both."
/** Part of the server's connections that is in use before an operator should know. */
const CONNECTIONS_LIMIT = 0.9

const serverRows = storedRows(
  "pg_settings",
  Schema.Struct({
    version: Schema.String,
    major: Schema.Number,
    standby: Schema.Boolean,
    used: Schema.Number,
    allowed: Schema.Number,
    hubs: Schema.Number
  })
)
const clockRows = storedRows("clock", Schema.Struct({ ms: Schema.Number }))
const commitRows = storedRows("corral_commit_time", Schema.Struct({ ms: Schema.Number }))

const versionFinding = (version: string, major: number): DatabaseFinding =>
  major < OLDEST
    ? problem(
        `PostgreSQL ${version} is older than ${OLDEST}.`,
        `Upgrade the server to PostgreSQL ${OLDEST} or later.`
      )
    : major > NEWEST
      ? problem(
          `PostgreSQL ${version} is newer than ${NEWEST}, with which this version was tested.`,
          "Try the upgrade of the server with a copy of the database first."
        )
      : good(`PostgreSQL ${version}`)

interface InspectedServer {
  readonly findings: ReadonlyArray<DatabaseFinding>
  readonly isStandby: boolean
}

const serverFindings = (sql: SqlClient.SqlClient): Effect.Effect<InspectedServer, SqlError.SqlError> =>
  Effect.map(
    serverRows.first(sql`
      SELECT current_setting('server_version') AS version,
        current_setting('server_version_num')::int / 10000 AS major,
        pg_is_in_recovery() AS standby,
        (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS allowed,
        (SELECT count(DISTINCT application_name)::int FROM pg_stat_activity
          WHERE application_name LIKE ${`${HUB_APPLICATION} %`} AND datname = current_database()) AS hubs`),
    (server) => {
      if (server === undefined) return { findings: [], isStandby: false }
      const { allowed, hubs, major, standby, used, version } = server
      const connections = `${used} of ${allowed} connections are used, and ${quantityOf(hubs, "Hub")} connected`
      const findings = [
        versionFinding(version, major),
        ...(standby
          ? [
              problem(
                "This server is a standby. Hubs can't write to it.",
                "Let CORRAL_DATABASE_URL name the primary, or a proxy that finds it."
              )
            ]
          : []),
        used > allowed * CONNECTIONS_LIMIT
          ? problem(
              `${connections}.`,
              "Raise max_connections of the server, or lower CORRAL_HUB_DATABASE_CONNECTIONS."
            )
          : good(connections)
      ]
      return { findings, isStandby: standby }
    }
  )

/** The server's clock compared with this machine's, in the middle of the request. */
const clockFinding = (sql: SqlClient.SqlClient): Effect.Effect<DatabaseFinding, SqlError.SqlError> =>
  Effect.gen(function* () {
    const before = yield* Clock.currentTimeMillis
    const row = yield* clockRows.first(
      sql`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`
    )
    const after = yield* Clock.currentTimeMillis
    const difference = Math.round((row?.ms ?? before) - (before + after) / 2)
    // The request may have taken any part of its time on the way there.
    const isOff = Math.abs(difference) - (after - before) / 2 > CLOCK_LIMIT_MS
    return isOff
      ? problem(
          `The clock of the database server differs from this machine's by ${difference} ms.`,
          "Synchronize the clocks of all machines with NTP. Hubs work with the time of the database server."
        )
      : good(`The clocks of this machine and the database server differ by ${Math.abs(difference)} ms`)
  })

const commitFinding = (sql: SqlClient.SqlClient): Effect.Effect<DatabaseFinding, SqlError.SqlError> =>
  Effect.gen(function* () {
    const times: Array<number> = []
    for (let n = 0; n < COMMITS; n++)
      times.push((yield* commitRows.first(sql`CALL corral_commit_time(NULL)`))?.ms ?? 0)
    const median = times.toSorted((a, b) => a - b)[Math.floor(COMMITS / 2)] ?? 0
    const message = `A commit takes ${median.toFixed(1)} ms (median of ${COMMITS})`
    return median > SLOW_COMMIT_MS ? problem(`${message}.`, SLOW_COMMITS_HINT) : good(message)
  })

export const inspectServer = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const { findings, isStandby } = yield* serverFindings(sql)
    return { findings: [...findings, yield* clockFinding(sql)], isStandby }
  })

/** For a server that can be written to. */
export const inspectCommits = (sql: SqlClient.SqlClient): Effect.Effect<DatabaseFinding, SqlError.SqlError> =>
  Effect.map(Effect.timeoutOption(commitFinding(sql), COMMITS_WITHIN), (found) =>
    Option.getOrElse(found, () =>
      problem(`${COMMITS} commits took longer than ${COMMITS_WITHIN}.`, SLOW_COMMITS_HINT)
    )
  )
