/**
 * Retention of run logs. Drops the partitions of weeks whose runs all ended long ago. Logs that share a partition with a run that ends later are
 * deleted a little later, oldest first and in small batches.
 *
 * Guarantees: the run, its summary, its approvals and its last event remain, so that a reader of earlier events gets a replay gap. Several
 * Hubs may drop logs at the same time. The next pass completes an interrupted one.
 */
import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { RunId } from "@corral/domain/identity/Ids"
import { HubConfig } from "../config/HubConfig.ts"
import { decodePosition, encodePosition, limitTo } from "../store/ListPage.ts"
import { doSharedWork } from "../store/SharedWork.ts"
import { sweepRows } from "../store/Sweep.ts"
import { addPartitions, compactPartition, firstRunIdAt, isDroppable, runPartitions } from "./RunPartitions.ts"
import { endedRunRows } from "./Runs.ts"

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
