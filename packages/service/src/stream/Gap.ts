/** Gap at the front of a log: events that retention has dropped. A socket closes with 4410, an HTTP request receives 409. */
import { Conflict } from "@corral/domain/errors/Failures"
import { Data, Effect } from "effect"
import type { LogBatch } from "./LogSource.ts"

/** Retention has dropped the events after the requested position. */
export class ReplayGap extends Data.TaggedError("ReplayGap")<{}> {}

/** Keeps the batches that follow the position without a gap. Fails when the first one does not: a log loses events only at its front. */
export const withoutGap = <B extends Pick<LogBatch, "firstSeq" | "lastSeq">>(
  batches: ReadonlyArray<B>,
  after: number
): Effect.Effect<ReadonlyArray<B>, ReplayGap> => {
  let next = after + 1
  const gap = batches.findIndex(({ firstSeq, lastSeq }) => {
    const isMissing = firstSeq > next
    next = lastSeq + 1
    return isMissing
  })
  if (gap === 0) return Effect.fail(new ReplayGap())
  return Effect.succeed(gap === -1 ? batches : batches.slice(0, gap))
}

/** Turns a gap into the HTTP response. The error table's 410 is for approvals; 409 is the nearest code that clients know. */
export const gapToConflict =
  (lastSeq: number) =>
  <A, E, R>(effect: Effect.Effect<A, E | ReplayGap, R>): Effect.Effect<A, E | Conflict, R> =>
    Effect.mapError(effect, (error) => (isReplayGap(error) ? conflictOf(lastSeq) : error))

const isReplayGap = <E>(error: E | ReplayGap): error is ReplayGap => error instanceof ReplayGap

const conflictOf = (lastSeq: number): Conflict =>
  new Conflict({
    message: "The events of this run are no longer kept. The run itself says how it ended.",
    details: { reason: "replay_gap", lastSeq }
  })
