import type { RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Context, Data, Deferred, Effect, Exit, Fiber, Latch, Layer, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { eventDeliveryLayer, EventSink, type SinkBatch } from "../../src/log/EventSink.ts"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { at, newRunId } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"

class NotNow extends Data.TaggedError("NotNow")<{ readonly message: string }> {}

/** A log in memory that outlives the deliveries from it. */
const openLog = Effect.map(Layer.build(Layer.fresh(memoryLogLayer)), (context) =>
  Context.get(context, EdgeEventLog)
)

/** Delivers to the sink until the scope closes. */
const deliverTo = (log: EdgeEventLog["Service"], sink: EventSink) =>
  Layer.build(
    Layer.fresh(eventDeliveryLayer).pipe(
      Layer.provide([Layer.succeed(EventSink, sink), Layer.succeed(EdgeEventLog, log)])
    )
  )

const append = (log: EdgeEventLog["Service"], runId: RunId, seq: number, text = "") =>
  log.append(
    {
      runId,
      firstSeq: seq,
      count: 1,
      lines: makeEventEncoder({ runId })(
        seq,
        at,
        draft("run.message.delta", { messageId: "m", channel: "text", text })
      ),
      terminal: false
    },
    []
  )

const placesOf = (batches: ReadonlyArray<SinkBatch>) =>
  batches.map(({ position, runId }) => ({ position, runId }))

/** A sink that queues what it receives. */
const makeQueueSink = Effect.map(Queue.make<SinkBatch>(), (queue) => ({
  sink: { receive: (batch: SinkBatch) => Effect.asVoid(Queue.offer(queue, batch)) },
  take: (n: number) => Queue.takeN(queue, n)
}))

describe("EventDelivery", () => {
  it.effect("delivers what is committed after the start, of all runs in the order of commit", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      const [a, b] = [newRunId(), newRunId()]
      yield* append(log, a, 1)
      const { sink, take } = yield* makeQueueSink
      yield* deliverTo(log, sink)
      yield* append(log, b, 1)
      yield* append(log, a, 2, "two")
      yield* append(log, b, 2)
      const received = yield* take(3)
      assert.deepStrictEqual(placesOf(received), [
        { position: 2, runId: b },
        { position: 3, runId: a },
        { position: 4, runId: b }
      ])
      const { payload, seq } = JSON.parse(received[1]?.lines[0] ?? "")
      assert.deepStrictEqual([seq, payload.text], [2, "two"])
    })
  )

  it.effect("continues after a stored position", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      const run = newRunId()
      yield* Effect.forEach([1, 2, 3, 4], (seq) => append(log, run, seq))
      const { sink, take } = yield* makeQueueSink
      yield* deliverTo(log, { ...sink, after: 2 })
      assert.deepStrictEqual(
        (yield* take(2)).map(({ position }) => position),
        [3, 4]
      )
    })
  )

  it.effect("repeats a batch until the sink succeeds, also after a defect, and keeps the order", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      const run = newRunId()
      const tried: Array<number> = []
      const done = yield* Deferred.make<void>()
      yield* deliverTo(log, {
        receive: ({ position }) =>
          Effect.suspend(() => {
            tried.push(position)
            if (tried.length === 1) return Effect.fail(new NotNow({ message: "not now" }))
            if (tried.length === 2) throw new Error("a defect")
            return position === 2 ? Effect.asVoid(Deferred.succeed(done, undefined)) : Effect.void
          })
      })
      yield* append(log, run, 1)
      yield* append(log, run, 2)
      const awaited = yield* Effect.forkChild(Deferred.await(done))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(awaited)
      assert.deepStrictEqual(tried, [1, 1, 1, 2])
    })
  )

  it.effect("delays no commit while the sink is slow, and delivers everything later", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      const run = newRunId()
      const open = yield* Latch.make(false)
      const { sink, take } = yield* makeQueueSink
      yield* deliverTo(log, { receive: (batch) => Effect.andThen(open.await, sink.receive(batch)) })
      const numbers = Array.from({ length: 2_000 }, (_, i) => i + 1)
      // 8 MB: more than one read, and no commit waits for the sink.
      yield* Effect.forEach(numbers, (seq) => append(log, run, seq, "x".repeat(4_000)))
      yield* open.open
      const received = yield* take(2_000)
      assert.deepStrictEqual(
        received.map(({ position }) => position),
        numbers
      )
    })
  )

  it.effect("delivers the last events when its scope closes", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      const run = newRunId()
      const received: Array<number> = []
      const scope = yield* Scope.make()
      yield* Scope.provide(
        deliverTo(log, {
          receive: ({ position }) =>
            Effect.andThen(
              Effect.yieldNow,
              Effect.sync(() => void received.push(position))
            )
        }),
        scope
      )
      yield* Effect.forEach([1, 2, 3], (seq) => append(log, run, seq))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(received, [1, 2, 3])
    })
  )

  it.effect("closes after two seconds when the sink never succeeds", () =>
    Effect.gen(function* () {
      const log = yield* openLog
      for (const receive of [() => Effect.never, () => Effect.fail(new NotNow({ message: "never" }))]) {
        const scope = yield* Scope.make()
        yield* Scope.provide(deliverTo(log, { receive }), scope)
        yield* append(log, newRunId(), 1)
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
        yield* TestClock.adjust("1900 millis")
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust("200 millis")
        yield* Fiber.join(closing)
      }
    })
  )
})
