import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as ActiveClock from "../../src/run/actor/ActiveClock.ts"

/** A clock of 1,000 ms and the number of times it ran out. */
const clockOf = Effect.gen(function* () {
  const ran = { out: 0 }
  const run = yield* ActiveClock.makeActiveClock(1_000, () => ran.out++)
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
