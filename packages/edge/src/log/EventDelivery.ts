/**
 * Delivery of committed events to the sink of the embedding program. Without a sink it does nothing.
 *
 * Guarantees: reads the log from the sink's position, so nothing is queued. Place it below every service that appends events: it then stops
 * after them.
 */
import { Cause, Data, Effect, Fiber, Latch, Layer, Schedule } from "effect"
import { EdgeEventLog } from "./EdgeEventLog.ts"
import { EventSink } from "./EventSink.ts"
import type { StoredBatch } from "./StoredBatch.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

/** Characters of log per read. */
const BUDGET = 262_144
const SHUTDOWN = "2 seconds"
const pauses = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("30 seconds")])

class SinkFailed extends Data.TaggedError("SinkFailed")<{ readonly message: string }> {}

const newestOf = (log: EdgeEventLog["Service"]): number | undefined => {
  try {
    return log.lastPosition()
  } catch (error) {
    if (error instanceof StoreDamaged) return undefined
    throw error
  }
}

const make = Effect.fnUntraced(function* (sink: EventSink) {
  const log = yield* EdgeEventLog
  const last = newestOf(log)
  if (last === undefined) return yield* Effect.logError("the event sink is off: the store is damaged")
  let position = Math.min(sink.after ?? last, last)
  let isClosing = false
  let isFailing = false
  const appended = Latch.makeUnsafe(true)
  const unfollow = log.follow(undefined, { receive: () => appended.openUnsafe() })

  const logFailure = ({ message }: SinkFailed) =>
    Effect.suspend(() => {
      if (isFailing) return Effect.void
      isFailing = true
      return Effect.logWarning("the event sink failed and is tried again", { position, reason: message })
    })

  /** Repeats a step until it succeeds. A defect is a failure here, because the code is the program's. */
  const persist = <A, E>(step: () => Effect.Effect<A, E>): Effect.Effect<A> =>
    Effect.suspend(step).pipe(
      Effect.catchCause((cause) => Effect.fail(new SinkFailed({ message: Cause.pretty(cause) }))),
      Effect.tapError(logFailure),
      Effect.retry(pauses),
      Effect.orDie
    )

  const deliver = Effect.fnUntraced(function* ({ batch, lines, runId }: StoredBatch) {
    yield* persist(() => sink.receive({ position: batch, runId, lines: lines.split("\n") }))
    position = batch
    isFailing = false
  })

  const drain = Effect.gen(function* () {
    for (;;) {
      const batches = yield* persist(() => Effect.sync(() => log.readAll(position, BUDGET)))
      if (batches.length === 0) return
      for (const batch of batches) yield* deliver(batch)
    }
  })

  const deliverNext = Effect.gen(function* () {
    yield* appended.await
    appended.closeUnsafe()
    yield* drain
  })
  const deliverUntilClosed = Effect.repeat(deliverNext, { until: () => isClosing })

  const stop = Effect.fnUntraced(function* (fiber: Fiber.Fiber<void>) {
    isClosing = true
    appended.openUnsafe()
    const ended = yield* Effect.timeoutOption(Fiber.await(fiber), SHUTDOWN)
    unfollow()
    if (ended._tag === "Some") return
    yield* Fiber.interrupt(fiber)
    yield* Effect.logWarning("the event sink did not receive the last events", { position })
  })

  yield* Effect.acquireRelease(Effect.forkDetach(deliverUntilClosed), stop)
})

export const eventDeliveryLayer = Layer.effectDiscard(
  Effect.flatMap(EventSink, (sink) => (sink === undefined ? Effect.void : make(sink)))
)
