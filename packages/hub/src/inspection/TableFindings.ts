/** Sizes of tables, rows that vacuum has not removed yet, and the partitions of events. */
import { Clock, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { firstRunIdAt, runPartitions } from "../run/RunPartitions.ts"
import { storedRows } from "../store/StoredRows.ts"
import { type DatabaseFinding, good, problem, sizeText } from "./DatabaseFinding.ts"

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

export const inspectTables = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    return [
      ...(yield* databaseFindings(sql)),
      ...(yield* sizeFindings(sql)),
      ...(yield* deadFindings(sql)),
      yield* partitionFinding(sql)
    ]
  })
