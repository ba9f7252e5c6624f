import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { paceOf } from "../../src/feishu/Pace.ts"

const Ask = Schema.Struct({
  key: Schema.Literals(["a", "b"]),
  wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))
})

describe("paceOf", () => {
  it.effect.prop(
    "lets no more through in a second than it may, in order, and holds nobody up for another",
    { asks: Schema.Array(Ask).check(Schema.isMaxLength(40)) },
    ({ asks }) =>
      Effect.gen(function* () {
        const pace = paceOf(3)
        const passed: Array<{ readonly key: string; readonly at: number; readonly n: number }> = []
        const fibers: Array<Fiber.Fiber<void>> = []
        for (const [n, { key, wait }] of asks.entries()) {
          yield* TestClock.adjust(wait)
          const ask = Effect.gen(function* () {
            yield* pace(key)
            passed.push({ key, at: yield* Clock.currentTimeMillis, n })
          })
          fibers.push(yield* Effect.forkChild(ask))
        }
        yield* TestClock.adjust("1 hour")
        for (const fiber of fibers) yield* Fiber.join(fiber)
        assert.strictEqual(passed.length, asks.length)
        for (const key of ["a", "b"]) {
          const turns = passed.filter((each) => each.key === key)
          for (const [place, { at, n }] of turns.entries()) {
            const fourth = turns[place + 3]
            if (fourth !== undefined) assert.isAtLeast(fourth.at - at, 1_000)
            assert.isAbove(turns[place + 1]?.n ?? Infinity, n)
          }
        }
      })
  )

  it.effect("lets through at once what comes slowly enough", () =>
    Effect.gen(function* () {
      const pace = paceOf(5)
      for (let n = 0; n < 2_500; n++) {
        // Would hang if it waited: the clock stands still.
        yield* pace(`chat ${n}`)
        yield* pace("the same")
        yield* TestClock.adjust(220)
      }
    })
  )
})
