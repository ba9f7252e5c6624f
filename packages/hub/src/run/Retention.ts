/**
 * Drops the logs of runs that ended long ago. The run stays, with what its log came to, its approvals, and the event that ended it: whoever
 * asks for an earlier one finds the gap.
 *
 * In small pieces, the oldest events first, and any number of Hubs may do it at once. A piece that was not done is done by the next look.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

const RUNS = 100
const ROWS = 500

/** Drops the logs of runs that ended before that; gives how many. `rows` of a log go with one statement. */
export const dropLogsEndedBefore = Effect.fnUntraced(function* (
  before: Date,
  rows = ROWS
): Effect.fn.Return<number, SqlError.SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  for (let dropped = 0; ;) {
    const runs = yield* sql<{ readonly id: RunId }>`
      SELECT id FROM runs WHERE kept AND ended_at < ${before} ORDER BY ended_at LIMIT ${RUNS}`
    for (const { id } of runs) {
      let gone = rows
      while (gone === rows) {
        const deleted = yield* sql`
          DELETE FROM run_events WHERE run_id = ${id} AND last_seq IN (
            SELECT last_seq FROM run_events WHERE run_id = ${id} AND NOT terminal ORDER BY last_seq LIMIT ${rows}
          ) RETURNING last_seq`
        gone = deleted.length
      }
      // Of the last batch its last line stays: events have no line ends of their own.
      yield* sql`
        WITH cut AS (
          UPDATE run_events SET first_seq = last_seq, lines = substring(lines FROM '[^\n]*$'),
            size = length(substring(lines FROM '[^\n]*$'))
          WHERE run_id = ${id}
        )
        UPDATE runs SET kept = false WHERE id = ${id}`
    }
    dropped += runs.length
    if (runs.length < RUNS) return dropped
  }
})

const DAY_MS = 86_400_000

/** Looks at the start and every hour; 0 days: logs are kept for ever. */
export const runRetentionLayer = (days: number): Layer.Layer<never, never, SqlClient.SqlClient> =>
  days === 0
    ? Layer.empty
    : Layer.effectDiscard(
        Effect.gen(function* () {
          const clock = yield* Clock.Clock
          yield* Effect.suspend(() =>
            dropLogsEndedBefore(new Date(clock.currentTimeMillisUnsafe() - days * DAY_MS))
          ).pipe(
            Effect.tap((dropped) =>
              dropped === 0 ? Effect.void : Effect.logInfo(`the logs of ${dropped} runs were dropped`)
            ),
            Effect.catchCause((cause) => Effect.logWarning("old logs are still there", cause)),
            Effect.repeat(Schedule.spaced("1 hour")),
            Effect.forkScoped
          )
        })
      )
