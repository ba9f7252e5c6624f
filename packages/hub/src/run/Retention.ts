/**
 * Retention of run logs, and the partitions of the table `run_events` on which it works: one for the runs of each week, and `run_events_default` for ids of
 * any other time. The partitions of weeks whose runs all ended long ago are dropped. Logs that share a partition with a run that ends later are deleted a
 * little later, oldest first and in small batches.
 *
 * Guarantees: the run, its summary, its approvals and its last event remain, so that a reader of earlier events gets a replay gap. Several
 * Hubs may work at the same time. The next pass completes an interrupted one. Waits for locks of partitions at most `LOCK_TIMEOUT`, so that no push waits
 * long behind them; the next pass tries again. Rows are always in the partition of their run, in every locale of the database.
 */
import { Clock, Effect, Schema, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { RunId } from "@corral/domain/identity/Ids"
import { storedRows } from "../store/StoredRows.ts"
import { HubConfig } from "../config/HubConfig.ts"
import { decodePosition, encodePosition, limitTo } from "../store/ListPage.ts"
import { doSharedWork } from "../store/SharedWork.ts"
import { sweepRows } from "../store/Sweep.ts"
import { endedRunRows } from "./Runs.ts"

/** Weeks after the current one whose partitions exist. */
const WEEKS_AHEAD = 4
const WEEK_MS = 7 * 86_400_000
/** Unix time began on a Thursday; weeks begin on Monday. */
const FIRST_MONDAY_MS = 4 * 86_400_000
const LOCK_TIMEOUT = "2s"

/** Key of the advisory lock: any number that no other program uses. */
const PARTITIONS_LOCK = 7_204_110_927

/** A partition and its range of ids; `from` is absent for the first one. */
interface RunPartition {
  readonly name: string
  readonly from: string | null
  readonly to: string
}

const partitionRows = storedRows("pg_class", Schema.Struct({ name: Schema.String, bounds: Schema.String }))
const firstIdRows = storedRows("runs", Schema.Struct({ id: Schema.String }))

const BOUNDS = /^FOR VALUES FROM \((?:MINVALUE|'(run_\w+)')\) TO \('(run_\w+)'\)$/

/** Serializes changes of partitions. Call it first in the transaction. A change takes as long as its rows do. */
const lockPartitions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql`SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`
  yield* sql`SELECT pg_advisory_xact_lock(${sql.literal(String(PARTITIONS_LOCK))})::text`
  yield* sql`SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`
})

/** A reference from a partition locks this table. Taken before the partitions, as pushes do, so that the two never deadlock. */
const lockRuns = (sql: SqlClient.SqlClient) => sql`LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE`

/** All partitions but the default one. */
export const runPartitions = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<RunPartition>, SqlError.SqlError> =>
  Effect.map(
    partitionRows.all(sql`
      SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'run_events'::regclass ORDER BY c.relname`),
    (rows) =>
      rows.flatMap(({ bounds, name }) => {
        const [, from, to] = BOUNDS.exec(bounds) ?? []
        return to === undefined ? [] : [{ name, from: from ?? null, to }]
      })
  )

/** The smallest id of a run that was created at that time. */
export const firstRunIdAt = (sql: SqlClient.SqlClient, at: Date): Effect.Effect<string, SqlError.SqlError> =>
  Effect.map(firstIdRows.first(sql`SELECT corral_first_run_id(${at}) AS id`), (row) => row?.id ?? "")

const weekStart = (at: number): number => at - ((at - FIRST_MONDAY_MS) % WEEK_MS)

const nameOf = (week: number): string =>
  `run_events_${new Date(week).toISOString().slice(0, 10).replaceAll("-", "_")}`

/** Adds an empty table as a partition. Takes weaker locks than a partition that is created as one. */
const attachPartition = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  table: string,
  { from, to }: Pick<RunPartition, "from" | "to">
) {
  const lower = from === null ? sql`MINVALUE` : sql.literal(`'${from}'`)
  yield* sql`ALTER TABLE run_events ATTACH PARTITION ${sql(table)} FOR VALUES FROM (${lower}) TO (${sql.literal(`'${to}'`)})`
})

/** Adds missing partitions for this week and the next ones, each in its own transaction. Logs failures. */
export const addPartitions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const first = weekStart(yield* Clock.currentTimeMillis)
  for (let i = 0; i <= WEEKS_AHEAD; i++)
    yield* addPartition(sql, first + i * WEEK_MS).pipe(
      // Until then its events are in the default partition, which the next attempt can't leave out.
      Effect.catchCause((cause) => Effect.logWarning("failed to add a partition of run logs", cause))
    )
})

const addPartition = (sql: SqlClient.SqlClient, week: number) =>
  sql.withTransaction(
    Effect.gen(function* () {
      const from = yield* firstRunIdAt(sql, new Date(week))
      const to = yield* firstRunIdAt(sql, new Date(week + WEEK_MS))
      const isCovered = Effect.map(runPartitions(sql), (partitions) =>
        partitions.some((partition) => partition.to >= to)
      )
      if (yield* isCovered) return
      yield* lockPartitions(sql)
      if (yield* isCovered) return
      yield* lockRuns(sql)
      const name = nameOf(week)
      yield* sql`CREATE TABLE ${sql(name)} (LIKE run_events INCLUDING DEFAULTS INCLUDING INDEXES)`
      yield* attachPartition(sql, name, { from, to })
    })
  )

/**
 * Replaces a partition by one that has only the last event of each of its runs, and drops its logs with their file. All its runs must have ended
 * before that time; otherwise nothing is changed. A pass that was interrupted is repeated as a whole.
 */
const compactPartition = Effect.fn("Retention.compactPartition")(function* (
  sql: SqlClient.SqlClient,
  partition: RunPartition,
  before: Date
): Effect.fn.Return<number, SqlError.SqlError> {
  const ends = `${partition.name}_ends`
  yield* sql.withTransaction(createEnds(sql, partition, ends))
  const isReplaced = yield* sql.withTransaction(replaceByEnds(sql, partition, ends, before))
  if (!isReplaced) {
    yield* sql`DROP TABLE ${sql(ends)}`
    return 0
  }
  // Search reads runs that change here again, so these locks are not those of the replacement.
  const dropped =
    yield* sql`UPDATE runs SET kept = false WHERE ${runsIn(sql, partition)} AND kept RETURNING id`
  return dropped.length
})

/** An empty table with all that a partition needs, so that nothing is checked under the locks of the replacement. */
const createEnds = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { from, to }: RunPartition,
  ends: string
) {
  yield* lockPartitions(sql)
  yield* lockRuns(sql)
  yield* sql`DROP TABLE IF EXISTS ${sql(ends)}`
  yield* sql`CREATE TABLE ${sql(ends)} (LIKE run_events INCLUDING DEFAULTS, PRIMARY KEY (run_id, last_seq))`
  yield* sql`ALTER TABLE ${sql(ends)} ADD FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE`
  const lower = sql.literal(from === null ? "true" : `run_id >= '${from}'`)
  yield* sql`ALTER TABLE ${sql(ends)} ADD CONSTRAINT ends_range CHECK (${lower} AND run_id < ${sql.literal(`'${to}'`)})`
})

const replaceByEnds = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  partition: RunPartition,
  ends: string,
  before: Date
) {
  const { name } = partition
  yield* lockPartitions(sql)
  yield* sql`LOCK TABLE ${sql(name)} IN SHARE MODE`
  if (!(yield* isDroppable(sql, partition, before))) return false
  yield* sql`
    INSERT INTO ${sql(ends)} (run_id, first_seq, last_seq, size, terminal, lines)
    SELECT e.run_id, e.last_seq, e.last_seq, length(e.line), e.terminal, e.line FROM runs
      CROSS JOIN LATERAL (
        SELECT run_id, last_seq, terminal, substring(lines FROM '[^\n]*$') AS line FROM ${sql(name)}
        WHERE run_id = runs.id ORDER BY last_seq DESC LIMIT 1
      ) AS e WHERE ${runsIn(sql, partition)}`
  // In the order of pushes, which hold both. From here on nothing takes long.
  yield* lockRuns(sql)
  yield* sql`LOCK TABLE run_events IN ACCESS EXCLUSIVE MODE`
  yield* sql`ALTER TABLE run_events DETACH PARTITION ${sql(name)}`
  yield* attachPartition(sql, ends, partition)
  yield* sql`ALTER TABLE ${sql(ends)} DROP CONSTRAINT ends_range`
  yield* sql`DROP TABLE ${sql(name)}`
  yield* sql`ALTER TABLE ${sql(ends)} RENAME TO ${sql(name)}`
  return true
})

const runsIn = (sql: SqlClient.SqlClient, { from, to }: RunPartition) =>
  from === null ? sql`id < ${to}` : sql.and([sql`id >= ${from}`, sql`id < ${to}`])

/** Whether all runs of a partition have ended before that time, and at least one has a log. */
const isDroppable = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  partition: RunPartition,
  before: Date
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const range = runsIn(sql, partition)
  const [late] = yield* sql`
    SELECT 1 FROM runs WHERE ${range} AND kept AND (ended_at IS NULL OR ended_at >= ${before}) LIMIT 1`
  if (late !== undefined) return false
  const [logged] = yield* sql`SELECT 1 FROM runs WHERE ${range} AND kept LIMIT 1`
  return logged !== undefined
})

const RUNS = 100
const ROWS = 500

/** Drops the log of a run. One statement deletes up to `rows` rows of it. */
const dropLog = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, id: RunId, rows: number) {
  let deletedRows = rows
  while (deletedRows === rows) {
    const deleted = yield* sql`
      DELETE FROM run_events WHERE run_id = ${id} AND last_seq IN (
        SELECT last_seq FROM run_events WHERE run_id = ${id} AND NOT terminal ORDER BY last_seq LIMIT ${rows}
      ) RETURNING last_seq`
    deletedRows = deleted.length
  }
  // The last line of the last batch stays. Events contain no line breaks.
  yield* sql`
    WITH cut AS (
      UPDATE run_events SET first_seq = last_seq, lines = substring(lines FROM '[^\n]*$'),
        size = length(substring(lines FROM '[^\n]*$'))
      WHERE run_id = ${id}
    )
    UPDATE runs SET kept = false WHERE id = ${id}`
})

/**
 * Drops the logs of runs that ended before `before` and returns their number. A log that cannot be dropped stays until the next pass, and holds up
 * no other. One statement deletes up to `rows` rows of a log, `runs` is the number of runs that are read at once.
 */
export const dropLogsEndedBefore = Effect.fnUntraced(function* (
  before: Date,
  rows = ROWS,
  runs = RUNS
): Effect.fn.Return<number, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  let dropped = 0
  yield* sweepRows({
    page: (after) => {
      const { at, id } = after === "" ? { at: new Date(0).toISOString(), id: "" } : decodePosition(after)
      return endedRunRows.all(sql`
        SELECT id, ended_at FROM runs
        WHERE kept AND ended_at < ${before} AND (ended_at, id) > (${at}::timestamptz, ${id})
        ORDER BY ended_at, id ${limitTo(sql, runs)}`)
    },
    keyOf: ({ ended_at, id }) => encodePosition(ended_at.toISOString(), id),
    visit: ({ id }) =>
      Effect.gen(function* () {
        // A run that is locked is left to the next pass.
        const free = yield* sql`SELECT 1 FROM runs WHERE id = ${id} FOR NO KEY UPDATE SKIP LOCKED`
        if (free.length === 0) return false
        yield* dropLog(sql, id, rows)
        dropped++
        return true
      }),
    failure: "failed to drop the log of a run"
  })
  return dropped
})

const DAY_MS = 86_400_000

/** A partition has the runs of a week: all have ended at most so much later than the first, unless one takes longer. */
const GRACE_MS = 8 * DAY_MS

/** Drops the logs of partitions whose runs all ended before `before`, and returns their number. */
export const dropPartitionsEndedBefore = Effect.fnUntraced(function* (
  before: Date
): Effect.fn.Return<number, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const until = yield* firstRunIdAt(sql, before)
  let dropped = 0
  for (const partition of yield* runPartitions(sql)) {
    if (partition.to > until || !(yield* isDroppable(sql, partition, before))) continue
    dropped += yield* compactPartition(sql, partition, before)
  }
  return dropped
})

const retention = Effect.fnUntraced(function* (days: number) {
  const clock = yield* Clock.Clock
  const work = Effect.suspend(() => {
    const before = clock.currentTimeMillisUnsafe() - days * DAY_MS
    return Effect.zipWith(
      dropPartitionsEndedBefore(new Date(before)).pipe(
        Effect.catchCause((cause) =>
          Effect.as(Effect.logWarning("failed to drop partitions of run logs", cause), 0)
        )
      ),
      dropLogsEndedBefore(new Date(before - GRACE_MS)),
      (ofPartitions, single) => ofPartitions + single
    )
  }).pipe(
    Effect.tap((dropped) =>
      dropped === 0 ? Effect.void : Effect.logInfo("dropped run logs", { runs: dropped })
    )
  )
  yield* doSharedWork(`retention of ${days} days`, "1 hour", work)
})

/** Partitions are added at the start and every hour. One of the Hubs drops logs every hour; with 0 days, none does. */
export const runRetentionLayer = Layer.effectDiscard(
  Effect.andThen(
    Effect.forkScoped(Effect.repeat(addPartitions, Schedule.spaced("1 hour"))),
    Effect.flatMap(HubConfig, ({ retentionDays }) =>
      retentionDays === 0 ? Effect.void : retention(retentionDays)
    )
  )
)
