/**
 * Receiver of every committed event, in the embedding program, and the delivery to it; none by default. Replaceable.
 *
 * Guarantees: batches of all runs arrive one at a time, in the order in which they became durable. A batch is repeated until the sink succeeds,
 * with growing pauses, so a sink sees it at least once. A slow or failing sink delays only itself: runs do not wait for it, and it holds no more
 * than about 256 KiB of log in memory, because the log is read from the sink's position. When the Edge stops, the sink receives the last events of
 * the runs, for up to two seconds: the layer is below every service that appends events, and stops after them.
 *
 * Does not: keep events for the sink beyond retention, or deliver damaged events.
 */
import { StoreDamaged } from "../store/StoreDamage.ts"
import { EdgeEventLog } from "./EdgeEventLog.ts"
import type { StoredBatch } from "./StoredEvents.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import { Cause, Context, Data, Effect, Fiber, Latch, Layer, Schedule } from "effect"

/** Events of one run that were committed together, in the order of their `seq`. */
export interface SinkBatch {
  /** Place among all batches of the store. It only grows; store it to continue after it. */
  readonly position: number
  readonly runId: RunId
  /** Each event as JSON, as the log has it. `decodeEvent` reads it. */
  readonly lines: ReadonlyArray<string>
}

export interface EventSink {
  /** Position of the last batch that the sink has processed. By default it receives what is committed after the start of the Edge. */
  readonly after?: number | undefined
  /** Succeeds when the batch is processed. A failure or a defect repeats the batch. */
  readonly receive: (batch: SinkBatch) => Effect.Effect<void, { readonly message: string }>
}

export const EventSink = Context.Reference<EventSink | undefined>("corral/edge/EventSink", {
  defaultValue: () => undefined
})

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

/**
 * Delivery of committed events to the sink of the embedding program.
 *
 * @internal
 */
export const eventDeliveryLayer = Layer.effectDiscard(
  Effect.flatMap(EventSink, (sink) => (sink === undefined ? Effect.void : make(sink)))
)
