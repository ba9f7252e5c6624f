/** The Edge's event log (SQLite) as the source of event streams and pages. Reads are synchronous. */
import { closeCodes } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import { ReplayGap } from "@corral/service/stream/Gap"
import type { LogBatch, LogSource } from "@corral/service/stream/LogSource"
import { logStream } from "@corral/service/stream/LogStream"
import { defaultStreamTimes } from "@corral/service/stream/StreamTimes"
import { Effect, Stream } from "effect"
import { StoreDamaged } from "../store/StoreDamage.ts"
import type { EventLog } from "./EventLog.ts"

export type EdgeLogSource = LogSource<StoreDamaged>

/** The log of one run. */
export const runSource = (log: EventLog["Service"], runId: RunId): EdgeLogSource => {
  const hasDropped = (after: number): boolean => log.isForgotten(runId) && after < log.lastSeq(runId)
  return {
    read: (after, budget) =>
      reading(() => {
        const batches = log.read(runId, after, budget)
        return batches.length === 0 && hasDropped(after)
          ? Effect.fail(new ReplayGap())
          : Effect.succeed(batches)
      }),
    follow: (follower) => log.follow(runId, (batch) => follower.receive(batch)),
    hasDropped,
    closeFor
  }
}

/**
 * The logs of all runs as one, in the order of storage: a position is that of a batch. Dropped runs and damaged batches are left out.
 */
export const allRunsSource = (log: EventLog["Service"]): EdgeLogSource => ({
  read: (after, budget) =>
    reading(() =>
      Effect.succeed(
        log.readAll(after, budget).map((batch) => ({ ...batch, firstSeq: batch.batch, lastSeq: batch.batch }))
      )
    ),
  // An appended batch has no position yet.
  follow: (follower) => log.follow(undefined, () => follower.wake()),
  hasDropped: () => false,
  closeFor
})

/** Turns the damage that a read throws into a failure. */
const reading = <E>(
  read: () => Effect.Effect<ReadonlyArray<LogBatch>, E>
): Effect.Effect<ReadonlyArray<LogBatch>, E | StoreDamaged> =>
  Effect.suspend((): Effect.Effect<ReadonlyArray<LogBatch>, E | StoreDamaged> => {
    try {
      return read()
    } catch (error) {
      return error instanceof StoreDamaged ? Effect.fail(error) : Effect.die(error)
    }
  })

const closeFor = () => ({ code: closeCodes.damaged, reason: "the stored events are damaged" }) as const

/** A run's events as JSON lines: stored ones, then new ones, to the run's end. */
export const runLines = (
  log: EventLog["Service"],
  runId: RunId,
  after: number
): Stream.Stream<ReadonlyArray<string>, ReplayGap | StoreDamaged> =>
  Stream.suspend(() =>
    logStream(
      runSource(log, runId),
      { after, isOver: log.endsAt(runId, after) },
      defaultStreamTimes.pingEveryMs
    )
  ).pipe(
    Stream.filter((batches) => batches.length > 0),
    Stream.map((batches) => batches.flatMap(({ lines }) => lines.split("\n")))
  )
