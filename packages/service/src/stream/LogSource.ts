/**
 * Append-only log that event streams, pages and sockets read, independent of its database. Also the gap at its front, where retention has dropped
 * events, and one page of a run's log as JSON.
 *
 * A position is the `seq` of the last event that a reader has; 0 is the start.
 */
import type { CloseCode } from "@corral/domain/http/StreamEnd"
import type { RunId, RequestId } from "@corral/domain/identity/Ids"
import { Data, Effect } from "effect"
import { Conflict } from "@corral/domain/errors/Failures"
import type { EventPage } from "@corral/domain/edge-api/Runs"
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { FrameBatch } from "./Frames.ts"
import type { ReaderWindow } from "./ReaderWindow.ts"

// Gap at the front of a log: events that retention has dropped. A socket closes with 4410, an HTTP request receives 409.

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
    Effect.mapError(effect, (error) => (isReplayGap(error) ? conflictOfGap(lastSeq) : error))

const isReplayGap = <E>(error: E | ReplayGap): error is ReplayGap => error instanceof ReplayGap

/** Failure of a reader whose next events were dropped. */
export const conflictOfGap = (lastSeq: number): Conflict =>
  new Conflict({
    message: "The events of this run are no longer kept. The run itself says how it ended.",
    details: { reason: "replay_gap", lastSeq }
  })

/** Consecutive events of one log, as JSON lines without a final newline. Shared by all readers that are up to date. */
export interface LogBatch extends FrameBatch {
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  /** Contains the last event of its run. */
  readonly terminal: boolean
}

/** Reader that is notified when a log grows. Must not block and must not throw. */
export interface LogFollower {
  /** What the reader has confirmed, once much was sent to it. Without a window, it always has room. */
  readonly window?: ReaderWindow | undefined
  /** Position of a follower that has read everything and can receive the next batch; `undefined` while it reads by itself. */
  readonly waitsAfter: () => number | undefined
  /** Passes a new batch. A follower at another position ignores it or reads the log. */
  readonly receive: (batch: LogBatch) => void
  /** The log may have grown. */
  readonly wake: () => void
}

/** Reason why a server closes a socket. */
export interface SocketClose {
  readonly code: CloseCode
  readonly reason: string
}

/** Log of one run, or of all runs as one. `E` is how a read can fail. */
export interface LogSource<E> {
  /** Whether the log's writer waits for readers that are full. They receive pings for it. */
  readonly isPaced?: boolean
  /**
   * Batches after a position, oldest first: about `budget` characters, and at least one batch if there is any. Empty at the end of the
   * log. Fails with `ReplayGap` when retention has dropped the next event.
   */
  readonly read: (after: number, budget: number) => Effect.Effect<ReadonlyArray<LogBatch>, E | ReplayGap>
  /** Notifies the follower of appends until the returned function is called. */
  readonly follow: (follower: LogFollower) => () => void
  /** Whether events after the position are known to be dropped, or about to be. Otherwise a read finds out. */
  readonly hasDropped: (after: number) => boolean
  /** Close code and reason for a failed read. */
  readonly closeFor: (error: E) => SocketClose
}

/** Where a reader starts. */
export interface Start {
  readonly after: number
  /** The run has ended and has no event after `after`. */
  readonly isOver: boolean
}

/** Characters that are read at a time for a reader that is behind. */
export const READ_BUDGET = 65_536

interface PageOptions {
  readonly after: number
  readonly limit: number
  /** Last seq of the log. */
  readonly lastSeq: number
  readonly requestId: RequestId
}

/**
 * At most `limit` events after `after`. `nextCursor` is the next `after`, or null at the end of the log. A page ends before an event that
 * cannot be read; a page that starts there fails.
 */
export const eventPage = Effect.fnUntraced(function* <E>(
  source: LogSource<E>,
  { after, lastSeq, limit, requestId }: PageOptions
): Effect.fn.Return<EventPage, E | ReplayGap> {
  if (source.hasDropped(after)) return yield* new ReplayGap()
  const lines: Array<string> = []
  let position = after
  // A seq beyond the end may be larger than a database integer.
  while (lines.length < limit && position < lastSeq) {
    const read = source.read(position, READ_BUDGET)
    const batches = yield* lines.length === 0 ? read : Effect.orElseSucceed(read, () => [])
    const last = batches.at(-1)
    if (last === undefined) break
    for (const batch of batches) lines.push(...batch.lines.split("\n"))
    position = last.lastSeq
  }
  // Every event was validated before it was stored.
  const items = lines.slice(0, limit).map((line) => JSON.parse(line) as Envelope)
  const end = items.at(-1)?.seq ?? after
  return { items, nextCursor: lastSeq > end ? String(end) : null, requestId }
})
