import { assert, describe, it } from "@effect/vitest"
import { initial } from "@corral/domain/run/RunState"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  makeActiveClock,
  makeIdleClocks,
  makeSilenceClock,
  type SilenceLimits
} from "../../src/run/actor/RunClocks.ts"
import type { RunMessage } from "../../src/run/kernel/RunMessage.ts"
import { newRunId, runOf } from "../Samples.ts"

/** A clock of 1,000 ms and the number of times it ran out. */
const clockOf = Effect.gen(function* () {
  const ran = { out: 0 }
  const run = yield* makeActiveClock(1_000, () => ran.out++)
  return { run, ran }
})

describe("ActiveClock", () => {
  it.effect("stands until it is let run", () =>
    Effect.gen(function* () {
      const { ran } = yield* clockOf
      yield* TestClock.adjust("1 day")
      assert.strictEqual(ran.out, 0)
    })
  )

  it.effect("runs out after its budget, once", () =>
    Effect.gen(function* () {
      const { run, ran } = yield* clockOf
      yield* run(true)
      yield* TestClock.adjust(999)
      assert.strictEqual(ran.out, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(ran.out, 1)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(ran.out, 1)
    })
  )

  it.effect("does not count the time that it stands, however often", () =>
    Effect.gen(function* () {
      const { run, ran } = yield* clockOf
      for (let i = 0; i < 9; i++) {
        yield* run(true)
        yield* TestClock.adjust(100)
        yield* run(false)
        yield* TestClock.adjust("1 hour")
      }
      assert.strictEqual(ran.out, 0)
      yield* run(true)
      yield* TestClock.adjust(99)
      assert.strictEqual(ran.out, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(ran.out, 1)
    })
  )

  it.effect("keeps counting when it is started twice", () =>
    Effect.gen(function* () {
      const { run, ran } = yield* clockOf
      yield* run(false)
      yield* run(true)
      yield* TestClock.adjust(600)
      yield* run(true)
      yield* TestClock.adjust(399)
      assert.strictEqual(ran.out, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(ran.out, 1)
    })
  )

  it.effect("has run out for good: standing and running again is not another time", () =>
    Effect.gen(function* () {
      const { run, ran } = yield* clockOf
      yield* run(true)
      yield* TestClock.adjust(1_000)
      yield* run(false)
      yield* run(true)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(ran.out, 1)
    })
  )

  it.effect("ends with its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { run, ran } = yield* Scope.provide(clockOf, scope)
      yield* Scope.provide(run(true), scope)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(ran.out, 0)
    })
  )
})

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

const SETTLE = 10_000
const settling = { idleTurn: 1, isBackground: true, isSettling: true }

const makeClocks = Effect.gen(function* () {
  const posted: Array<RunMessage["_tag"]> = []
  const session = {
    options: {
      recorder: { run: runOf(newRunId()), state: initial },
      times: { background: 600_000, settle: SETTLE }
    },
    post: ({ _tag }: RunMessage) => posted.push(_tag) > 0
  }
  return { posted, clocks: yield* makeIdleClocks(session, 0) }
})

describe("IdleClocks", () => {
  it.effect("report again that no turn came, if the first report counted for nothing", () =>
    Effect.gen(function* () {
      const { clocks, posted } = yield* makeClocks
      yield* clocks.follow(settling)
      yield* TestClock.adjust(SETTLE)
      assert.deepStrictEqual(posted, ["Settled"])
      yield* clocks.follow(settling)
      yield* TestClock.adjust(SETTLE)
      assert.deepStrictEqual(posted, ["Settled", "Settled"])
    })
  )

  it.effect("give each turn the whole time until the next one is due", () =>
    Effect.gen(function* () {
      const { clocks, posted } = yield* makeClocks
      yield* clocks.follow(settling)
      yield* TestClock.adjust(SETTLE - 1)
      yield* clocks.follow({ ...settling, idleTurn: 2 })
      yield* TestClock.adjust(SETTLE - 1)
      assert.deepStrictEqual(posted, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(posted, ["Settled"])
    })
  )

  it.effect("report nothing once the run has no turn due", () =>
    Effect.gen(function* () {
      const { clocks, posted } = yield* makeClocks
      yield* clocks.follow(settling)
      yield* clocks.follow({ ...settling, isSettling: false, isBackground: false })
      yield* TestClock.adjust(SETTLE * 100)
      assert.deepStrictEqual(posted, [])
    })
  )
})
