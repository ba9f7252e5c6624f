import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { makeRateLimiter } from "../../src/feishu/Feishu.ts"

const millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 700 }))
const Ask = Schema.Struct({
  key: Schema.Literals(["a", "b"]),
  wait: millis,
  /** To the platform, and back. */
  way: millis,
  back: millis,
  /** When it is given up. */
  patience: Schema.Literals([0, 500, 60_000])
})

describe("makeRateLimiter", () => {
  it.effect.prop(
    "limits the calls per second in order, independently per key",
    { asks: Schema.Array(Ask).check(Schema.isMaxLength(40)) },
    ({ asks }) =>
      Effect.gen(function* () {
        const pace = makeRateLimiter(3)
        const passed: Array<{
          readonly key: string
          readonly requestedAt: number
          readonly at: number
          readonly n: number
        }> = []
        const fibers: Array<Fiber.Fiber<void>> = []
        for (const [n, { back, key, patience, wait, way }] of asks.entries()) {
          yield* TestClock.adjust(wait)
          const ask = Effect.gen(function* () {
            const requestedAt = yield* Clock.currentTimeMillis
            yield* Effect.sleep(way)
            passed.push({ key, requestedAt, at: yield* Clock.currentTimeMillis, n })
            yield* Effect.sleep(back)
          }).pipe(pace(key), Effect.timeoutOption(patience), Effect.asVoid)
          fibers.push(yield* Effect.forkChild(ask))
        }
        yield* TestClock.adjust("1 hour")
        for (const fiber of fibers) yield* Fiber.join(fiber)
        const patient = asks.filter(({ patience }) => patience === 60_000)
        assert.isAtLeast(passed.length, patient.length)
        for (const key of ["a", "b"]) {
          const arrived = passed.filter((each) => each.key === key).map(({ at }) => at)
          for (const [place, at] of arrived.entries())
            assert.isAtLeast(arrived[place + 3] ?? Infinity, at + 1_000)
          const started = passed.filter((each) => each.key === key).sort((one, other) => one.n - other.n)
          for (const [place, { requestedAt: at }] of started.entries())
            assert.isAtMost(at, started[place + 1]?.requestedAt ?? Infinity)
        }
      })
  )

  it.effect("lets through at once what comes slowly enough", () =>
    Effect.gen(function* () {
      const pace = makeRateLimiter(5)
      for (let n = 0; n < 2_500; n++) {
        // Would hang if it waited: the clock stands still.
        yield* Effect.void.pipe(pace(`chat ${n}`), pace("the same"))
        yield* TestClock.adjust(220)
      }
    })
  )
})
