import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type MetricRow, Metrics } from "../../src/telemetry/Metrics.ts"
import { PrometheusText } from "@corral/testing/http/PrometheusText"

const done = {
  name: "done_total",
  kind: "counter",
  what: "Done.",
  labels: ["how"]
} as const satisfies MetricRow
const depth = { name: "depth", kind: "gauge", what: "Depth." } as const satisfies MetricRow
const took = { name: "took_seconds", kind: "histogram", what: "Took." } as const satisfies MetricRow

const read = (metrics: Metrics) => Effect.map(metrics.text, (text) => new PrometheusText(text))

describe("Metrics", () => {
  it.effect("counts from 0 on, each service for itself", () =>
    Effect.gen(function* () {
      const [one, other] = [new Metrics("one"), new Metrics("other")]
      const well = one.counter(done, { how: "well" })
      assert.strictEqual((yield* read(one)).sum("corral_one_done_total", { how: "well" }), 0)
      well.add()
      one.counter(done, { how: "well" }).add(4)
      one.counter(done, { how: "badly" }).add()
      other.counter(done, { how: 'a "b"\\\n' }).add()
      assert.strictEqual((yield* read(one)).sum("corral_one_done_total", { how: "well" }), 5)
      assert.strictEqual((yield* read(one)).sum("corral_one_done_total"), 6)
      assert.deepStrictEqual((yield* read(other)).families, new Map([["corral_other_done_total", "counter"]]))
    })
  )

  it.effect("puts each duration in its bucket and all above it", () =>
    Effect.gen(function* () {
      const metrics = new Metrics("one")
      const histogram = metrics.histogram(took)
      for (const seconds of [0.0001, 0.05, 0.06, 100]) histogram.record(seconds)
      const text = yield* read(metrics)
      const below = (le: string) => text.sum("corral_one_took_seconds_bucket", { le })
      assert.deepStrictEqual(
        [below("0.001"), below("0.05"), below("0.1"), below("30"), below("+Inf")],
        [1, 2, 3, 3, 4]
      )
      assert.strictEqual(text.sum("corral_one_took_seconds_count"), 4)
      assert.closeTo(text.sum("corral_one_took_seconds_sum"), 100.1101, 1e-9)
    })
  )

  it.effect("asks for what takes a query once a second, however many read", () =>
    Effect.gen(function* () {
      const metrics = new Metrics("one")
      let readings = 0
      metrics.sample(Effect.sync(() => [[depth, ++readings]]))
      const reads = Array.from({ length: 20 }, () => read(metrics))
      yield* Effect.all(reads, { concurrency: "unbounded" })
      assert.strictEqual((yield* read(metrics)).sum("corral_one_depth"), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* read(metrics)).sum("corral_one_depth"), 2)
    })
  )

  it.effect("leaves out what is not answered, or fails, and shows it again when it is", () =>
    Effect.gen(function* () {
      const metrics = new Metrics("one")
      const answers: Array<Effect.Effect<number, "gone">> = [
        Effect.succeed(1),
        Effect.never,
        Effect.fail("gone" as const),
        Effect.die(new Error("broken")),
        Effect.succeed(2)
      ]
      metrics.sample(
        Effect.suspend(() => Effect.map(answers.shift() ?? Effect.never, (found) => [[depth, found]]))
      )
      const shown = Effect.gen(function* () {
        const reading = yield* Effect.forkChild(read(metrics))
        yield* TestClock.adjust("2 seconds")
        const text = yield* Fiber.join(reading)
        yield* TestClock.adjust("1 second")
        return text.families.has("corral_one_depth") ? text.sum("corral_one_depth") : undefined
      })
      const found = yield* Effect.all(Array.from({ length: 5 }, () => shown))
      assert.deepStrictEqual(found, [1, undefined, undefined, undefined, 2])
    })
  )

  it.effect("is asked by one who goes away for all who wait", () =>
    Effect.gen(function* () {
      const metrics = new Metrics("one")
      const wasRead = yield* Deferred.make<void>()
      metrics.sample(Effect.as(Deferred.await(wasRead), [[depth, 1]]))
      const first = yield* Effect.forkChild(read(metrics), { startImmediately: true })
      const second = yield* Effect.forkChild(read(metrics), { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(wasRead, undefined)
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(second)).sum("corral_one_depth"), 1)
    })
  )
})
