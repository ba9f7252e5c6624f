/**
 * What an inspection of a Hub's database finds, for an operator: version, role, connections, clock and commits of the server; statements that take long;
 * sizes of tables, rows that vacuum has not removed yet, and the partitions of events.
 */
import { SLOW_COMMIT_MS } from "@corral/service/CommitTimes"
import { Clock, Effect, Option, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { firstRunIdAt, runPartitions } from "../run/Retention.ts"
import { HUB_APPLICATION } from "../store/Notices.ts"
import { storedRows } from "../store/StoredRows.ts"

/** `unknown`: the database does not tell it, for example without the rights to. */
type DatabaseFindingState = "good" | "problem" | "unknown"

/** What an inspection of a Hub's database found, for an operator. */
export interface DatabaseFinding {
  readonly state: DatabaseFindingState
  /** One sentence, or a name with figures. Contains no data of users. */
  readonly message: string
  /** What to do. */
  readonly hint?: string
}

export const good = (message: string): DatabaseFinding => ({ state: "good", message })
export const problem = (message: string, hint: string): DatabaseFinding => ({
  state: "problem",
  message,
  hint
})
export const unknown = (message: string, hint: string): DatabaseFinding => ({
  state: "unknown",
  message,
  hint
})

/** `1 row`, `2 rows`. */
export const quantityOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** `12 MB`, `1.5 GB`. */
export const sizeText = (bytes: number): string =>
  bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`

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

/** Seconds after which a statement or an open transaction of a Hub is a problem. */
const LONG_SECONDS = 10
/** Milliseconds on average. Statements of the Hub find their rows by index. */
const SLOW_MS = 100
const SLOWEST = 5
const SHOWN_CHARACTERS = 120

const activityRows = storedRows(
  "pg_stat_activity",
  Schema.Struct({ long: Schema.Number, idle: Schema.Number, blocked: Schema.Number })
)
const extensionRows = storedRows("pg_extension", Schema.Struct({ schema: Schema.String }))
const slowRows = storedRows(
  "pg_stat_statements",
  Schema.Struct({ text: Schema.String, calls: Schema.Number, ms: Schema.Number })
)

const activityFindings = (
  sql: SqlClient.SqlClient,
  longSeconds: number
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.map(
    activityRows.first(sql`
      SELECT
        count(*) FILTER (WHERE state = 'active' AND now() - query_start > make_interval(secs => ${longSeconds}))::int AS long,
        count(*) FILTER (WHERE state LIKE 'idle in transaction%' AND now() - state_change > make_interval(secs => ${longSeconds}))::int AS idle,
        count(*) FILTER (WHERE cardinality(pg_blocking_pids(pid)) > 0 AND now() - query_start > make_interval(secs => ${longSeconds}))::int AS blocked
      FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`),
    (row) => {
      const { blocked = 0, idle = 0, long = 0 } = row ?? {}
      const look = "Look at pg_stat_activity and pg_blocking_pids."
      const since = `for more than ${longSeconds} s`
      const found = [
        ...(long > 0 ? [problem(`${quantityOf(long, "statement")} ran ${since}.`, look)] : []),
        ...(blocked > 0
          ? [problem(`${quantityOf(blocked, "statement")} waited for a lock ${since}.`, look)]
          : []),
        ...(idle > 0
          ? [problem(`${quantityOf(idle, "transaction")} stayed open and idle ${since}.`, look)]
          : [])
      ]
      return found.length > 0 ? found : [good("No statement runs or waits for long")]
    }
  )

const slowFindings = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.gen(function* () {
    const extension = yield* extensionRows.first(sql`
      SELECT nspname::text AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
      WHERE extname = 'pg_stat_statements'`)
    if (extension === undefined)
      return [
        unknown(
          "Slow statements are not recorded.",
          "Add pg_stat_statements to shared_preload_libraries and create the extension."
        )
      ]
    const rows = yield* slowRows.all(sql`
      SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), ${SHOWN_CHARACTERS}) AS text, calls::float8 AS calls, mean_exec_time AS ms
      FROM ${sql(extension.schema)}.pg_stat_statements
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mean_exec_time > ${SLOW_MS} AND calls > 1
      ORDER BY mean_exec_time DESC LIMIT ${SLOWEST}`)
    if (rows.length === 0) return [good(`No statement takes more than ${SLOW_MS} ms on average`)]
    return rows.map(({ calls, ms, text }) =>
      problem(
        `${Math.round(ms)} ms on average of ${quantityOf(calls, "call")}: ${text}`,
        "Run ANALYZE, then look at its plan with EXPLAIN."
      )
    )
  })

/** Statements that take long: those that run now, and the slowest of pg_stat_statements where the server has that extension. */
export const inspectStatements = (sql: SqlClient.SqlClient, longSeconds = LONG_SECONDS) =>
  Effect.gen(function* () {
    return [...(yield* activityFindings(sql, longSeconds)), ...(yield* slowFindings(sql))]
  })

const LARGEST = 5
/** Deleted rows that a table may hold, as a part of the rows in use, and at any size of the table. */
const DEAD_PART = 0.5
const DEAD_ROWS = 100_000
/** Transactions since the oldest unfrozen one. PostgreSQL refuses writes at two thousand million. */
const AGE_LIMIT = 1_000_000_000
const WEEK_MS = 7 * 86_400_000

const sizeRows = storedRows(
  "pg_class",
  Schema.Struct({ name: Schema.String, bytes: Schema.Number, rows: Schema.Number })
)
const deadRows = storedRows(
  "pg_stat_user_tables",
  Schema.Struct({ name: Schema.String, dead: Schema.Number })
)
const databaseRows = storedRows("pg_database", Schema.Struct({ bytes: Schema.Number, age: Schema.Number }))

/** The largest tables, partitions added to their table. */
const sizeFindings = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.map(
    sizeRows.all(sql`
      SELECT coalesce(parent.relname, c.relname)::text AS name,
        sum(pg_total_relation_size(c.oid))::float8 AS bytes, sum(greatest(c.reltuples, 0))::float8 AS rows
      FROM pg_class c
      LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
      WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
      GROUP BY 1 ORDER BY 2 DESC LIMIT ${LARGEST}`),
    (rows) =>
      rows.map(({ bytes, name, rows: count }) =>
        good(`Table ${name}: ${sizeText(bytes)}, about ${Math.round(count)} rows`)
      )
  )

const deadFindings = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.map(
    deadRows.all(sql`
      SELECT relname::text AS name, n_dead_tup::float8 AS dead FROM pg_stat_user_tables
      WHERE schemaname = current_schema() AND n_dead_tup > greatest(${DEAD_ROWS}, ${DEAD_PART}::float8 * n_live_tup)
      ORDER BY n_dead_tup DESC`),
    (rows) =>
      rows.map(({ dead, name }) =>
        problem(
          `Table ${name} holds ${Math.round(dead)} deleted rows.`,
          "Look for a transaction that stays open, and run VACUUM on the table."
        )
      )
  )

const databaseFindings = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.map(
    databaseRows.first(sql`
      SELECT pg_database_size(oid)::float8 AS bytes, age(datfrozenxid)::float8 AS age
      FROM pg_database WHERE datname = current_database()`),
    (row) => {
      if (row === undefined) return []
      const size = good(`The database has ${sizeText(row.bytes)}`)
      return row.age > AGE_LIMIT
        ? [
            size,
            problem(
              `The oldest row that is not frozen is ${Math.round(row.age / 1e6)} million transactions old.`,
              "Run VACUUM FREEZE, and look at why autovacuum does not end."
            )
          ]
        : [size]
    }
  )

/** A Hub adds them weeks ahead. Events of a run without a partition are stored, in the partition for other ids. */
const partitionFinding = (sql: SqlClient.SqlClient): Effect.Effect<DatabaseFinding, SqlError.SqlError> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const partitions = yield* runPartitions(sql)
    const isCovered = (id: string) =>
      partitions.some(({ from, to }) => (from === null || from <= id) && id < to)
    const [today, nextWeek] = [
      yield* firstRunIdAt(sql, new Date(now)),
      yield* firstRunIdAt(sql, new Date(now + WEEK_MS))
    ]
    return isCovered(today) && isCovered(nextWeek)
      ? good(`Events have ${partitions.length} partitions, also for next week`)
      : problem(
          "Events of this week or the next one have no partition of their own.",
          "A Hub adds them when it starts, and every hour. Look in its log for `failed to add a partition of run logs`."
        )
  })

/** Sizes of tables, rows that vacuum has not removed yet, and the partitions of events. */
export const inspectTables = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    return [
      ...(yield* databaseFindings(sql)),
      ...(yield* sizeFindings(sql)),
      ...(yield* deadFindings(sql)),
      yield* partitionFinding(sql)
    ]
  })
