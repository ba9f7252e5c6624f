import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Queue } from "effect"
import { Coalesced } from "../src/Coalesced.ts"

describe("Coalesced", () => {
  it.effect("runs one pass for many wake-ups, and one more for those during it", () =>
    Effect.gen(function* () {
      const work = yield* Coalesced.make
      const starts = yield* Queue.unbounded<number>()
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      let passes = 0
      yield* work.run(
        Effect.suspend(() => {
          Queue.offerUnsafe(starts, passes)
          return Deferred.await(gates[passes++ % 2] ?? gates[0])
        }),
        () => Effect.void
      )
      for (let times = 0; times < 100; times++) work.wake()
      assert.strictEqual(yield* Queue.take(starts), 0)
      for (let times = 0; times < 100; times++) work.wake()
      yield* Deferred.succeed(gates[0], undefined)
      assert.strictEqual(yield* Queue.take(starts), 1)
      yield* Deferred.succeed(gates[1], undefined)
      yield* Effect.yieldNow
      assert.strictEqual(passes, 2)
      work.wake()
      assert.strictEqual(yield* Queue.take(starts), 2)
    })
  )

  it.effect("runs again after a pass that failed", () =>
    Effect.gen(function* () {
      const work = yield* Coalesced.make
      const failures = yield* Queue.unbounded<string>()
      yield* work.run(Effect.die("broken"), (cause) =>
        Effect.sync(() => void Queue.offerUnsafe(failures, String(cause)))
      )
      for (let times = 0; times < 3; times++) {
        work.wake()
        assert.include(yield* Queue.take(failures), "broken")
      }
    })
  )

  it.effect("remembers a wake-up for a worker that is not waiting", () =>
    Effect.gen(function* () {
      const work = yield* Coalesced.make
      work.wake()
      work.wake()
      yield* work.woken
      const isWoken = yield* Effect.race(Effect.as(work.woken, true), Effect.as(Effect.yieldNow, false))
      assert.isFalse(isWoken)
    })
  )
})
