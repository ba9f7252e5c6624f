/** The Edge's event log (SQLite) as the source of event streams and pages. Reads are synchronous. */
import { closeCodes } from "@corral/domain/http/StreamEnd"
import type { RunId } from "@corral/domain/identity/Ids"
import {
  type LogBatch,
  type LogFollower,
  type LogSource,
  ReplayGap,
  type SocketClose
} from "@corral/service/stream/LogSource"
import { logStream } from "@corral/service/stream/ServerSentEvents"
import { defaultStreamTimes } from "@corral/service/stream/StreamTimes"
import { Effect, Stream } from "effect"
import { StoreDamaged } from "../store/StoreDamage.ts"
import type { EdgeEventLog } from "./EdgeEventLog.ts"

export type EdgeLogSource = LogSource<StoreDamaged>

/** The log of one run. A class, because each idle reader holds one. */
class RunSource implements EdgeLogSource {
  readonly log: EdgeEventLog["Service"]
  readonly runId: RunId

  constructor(log: EdgeEventLog["Service"], runId: RunId) {
    this.log = log
    this.runId = runId
  }

  get isPaced(): boolean {
    return true
  }

  read(after: number, budget: number) {
    return reading(() => {
      const batches = this.log.read(this.runId, after, budget)
      return batches.length === 0 && this.hasDropped(after)
        ? Effect.fail(new ReplayGap())
        : Effect.succeed(batches)
    })
  }

  follow(follower: LogFollower) {
    return this.log.follow(this.runId, follower)
  }

  hasDropped(after: number): boolean {
    return this.log.isForgotten(this.runId) && after < this.log.lastSeq(this.runId)
  }

  closeFor() {
    return DAMAGED
  }
}

export const edgeRunSource = (log: EdgeEventLog["Service"], runId: RunId): EdgeLogSource =>
  new RunSource(log, runId)

/**
 * The logs of all runs as one, in the order of storage: a position is that of a batch. Dropped runs and damaged batches are left out.
 */
export const allRunsSource = (log: EdgeEventLog["Service"]): EdgeLogSource => ({
  read: (after, budget) =>
    reading(() =>
      Effect.succeed(
        log.readAll(after, budget).map((batch) => ({ ...batch, firstSeq: batch.batch, lastSeq: batch.batch }))
      )
    ),
  // An appended batch has no position yet.
  follow: (follower) => log.follow(undefined, { receive: () => follower.wake() }),
  hasDropped: () => false,
  closeFor: () => DAMAGED
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

const DAMAGED: SocketClose = { code: closeCodes.damaged, reason: "the stored events are damaged" }

/** A run's events as JSON lines: stored ones, then new ones, to the run's end. */
export const runLines = (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number
): Stream.Stream<ReadonlyArray<string>, ReplayGap | StoreDamaged> =>
  Stream.suspend(() =>
    logStream(
      edgeRunSource(log, runId),
      { after, isOver: log.endsAt(runId, after) },
      defaultStreamTimes.pingEveryMs
    )
  ).pipe(
    Stream.filter((batches) => batches.length > 0),
    Stream.map((batches) => batches.flatMap(({ lines }) => lines.split("\n")))
  )
