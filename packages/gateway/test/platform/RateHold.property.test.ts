import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { PlatformUnavailable } from "../../src/platform/ChatPlatform.ts"
import { makeRateHold, retryAfterMsOf } from "../../src/platform/PlatformCalls.ts"

const step = fc.record({
  key: fc.constantFrom("a", "b"),
  waitMs: fc.integer({ min: 0, max: 5_000 }),
  /** What the platform answers if the call reaches it. */
  retryAfterMs: fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: undefined })
})

describe("makeRateHold", () => {
  it("lets no call reach the platform before the time that it said for that key", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const held = makeRateHold()
            const until = new Map<string, number>()
            let now = 0
            for (const { key, retryAfterMs, waitMs } of steps) {
              yield* TestClock.adjust(waitMs)
              now += waitMs
              let reached = false
              const call = Effect.suspend(() => {
                reached = true
                return retryAfterMs === undefined
                  ? Effect.void
                  : Effect.fail(new PlatformUnavailable({ message: "limited", retryAfterMs }))
              })
              const exit = yield* Effect.exit(held(key)(call))
              const isHeld = (until.get(key) ?? 0) > now
              assert.strictEqual(reached, !isHeld)
              assert.strictEqual(exit._tag, isHeld || retryAfterMs !== undefined ? "Failure" : "Success")
              if (reached && retryAfterMs !== undefined) until.set(key, now + retryAfterMs)
            }
          }).pipe(Effect.provide(TestClock.layer()))
        )
      )
    ))

  it.each([
    ["30", 30_000],
    [30, 30_000],
    ["999999999", 3_600_000],
    ["0", undefined],
    ["-1", undefined],
    ["soon", undefined],
    [Number.NaN, undefined],
    [undefined, undefined]
  ])("reads %s", (seconds, expected) => assert.strictEqual(retryAfterMsOf(seconds), expected))
})
