/** Statements that take long: those that run now, and the slowest of pg_stat_statements where the server has that extension. */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { quantityOf, type DatabaseFinding, good, problem, unknown } from "./DatabaseFinding.ts"

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

export const inspectStatements = (sql: SqlClient.SqlClient, longSeconds = LONG_SECONDS) =>
  Effect.gen(function* () {
    return [...(yield* activityFindings(sql, longSeconds)), ...(yield* slowFindings(sql))]
  })
