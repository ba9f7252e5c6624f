import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeSilenceClock, type SilenceLimits } from "../../src/run/actor/SilenceClock.ts"

const listeningFor = Effect.fnUntraced(function* (limits: SilenceLimits) {
  const clock = yield* makeSilenceClock(limits)
  const fiber = yield* Effect.forkChild(
    clock.watch(() => undefined),
    { startImmediately: true }
  )
  return { clock, missed: () => fiber.pollUnsafe() !== undefined, end: Fiber.join(fiber) }
})

/** First word within 100 ms, then never silent for 1,000. */
const listening = listeningFor({ firstEvent: 100, silence: 1_000 })

describe("SilenceClock", () => {
  it.effect("misses a first word", () =>
    Effect.gen(function* () {
      const { end, missed } = yield* listening
      yield* TestClock.adjust(99)
      assert.isFalse(missed())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* end, { kind: "first_event", afterMs: 100 })
    })
  )

  it.effect("lets a runtime go on that speaks in time, however long", () =>
    Effect.gen(function* () {
      const { clock, missed } = yield* listening
      for (let i = 0; i < 50; i++) {
        clock.recordOutput()
        yield* TestClock.adjust(999)
      }
      assert.isFalse(missed())
    })
  )

  it.effect("misses the next word after the last one that it heard", () =>
    Effect.gen(function* () {
      const { clock, end, missed } = yield* listening
      yield* TestClock.adjust(50)
      clock.recordOutput()
      yield* TestClock.adjust(700)
      clock.recordOutput()
      yield* TestClock.adjust(999)
      assert.isFalse(missed())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* end, { kind: "silence", afterMs: 1_000 })
    })
  )

  it.effect("does not count the time that a person takes", () =>
    Effect.gen(function* () {
      const { clock, end, missed } = yield* listening
      clock.recordOutput()
      yield* TestClock.adjust(900)
      clock.stand(true)
      yield* TestClock.adjust("1 hour")
      assert.isFalse(missed())
      clock.stand(false)
      clock.stand(false)
      yield* TestClock.adjust(999)
      assert.isFalse(missed())
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* end, { kind: "silence" })
    })
  )

  it.effect("is as strict after a first word that was long allowed for", () =>
    Effect.gen(function* () {
      const { clock, end, missed } = yield* listeningFor({ firstEvent: 120_000, silence: 1_000 })
      yield* TestClock.adjust(60_000)
      assert.isFalse(missed())
      clock.recordOutput()
      yield* TestClock.adjust(2_000)
      assert.deepStrictEqual(yield* end, { kind: "silence", afterMs: 1_000 })
    })
  )

  it.effect("emits notices at growing intervals, and none during an approval or a tool call", () =>
    Effect.gen(function* () {
      const clock = yield* makeSilenceClock({ firstEvent: 100_000, silence: 10_000_000, silenceNotice: 100 })
      const received: Array<number> = []
      yield* Effect.forkChild(
        clock.watch((silentMs) => received.push(silentMs)),
        { startImmediately: true }
      )
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(received, [100, 200, 400, 800])
      clock.recordOutput()
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(received.splice(0), [100, 200, 400, 800, 100, 200])
      for (const busy of [clock.stand.bind(clock), clock.work.bind(clock)]) {
        busy(true)
        yield* TestClock.adjust("1 hour")
        assert.isEmpty(received)
        busy(false)
        clock.recordOutput()
      }
      yield* TestClock.adjust(199)
      assert.isAtMost(received.length, 1)
      yield* TestClock.adjust(100)
      assert.isAtLeast(received.length, 1)
    })
  )
})
