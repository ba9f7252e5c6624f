import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { StartSnapshot } from "../../src/run/actor/RunWorkspace.ts"

/** Snapshots that end when they are let, with their number and how many were interrupted. */
const counted = Effect.gen(function* () {
  const end = yield* Deferred.make<void>()
  const count = { taken: 0, interrupted: 0 }
  const take = Effect.suspend(() => {
    count.taken++
    return Deferred.await(end)
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => void count.interrupted++)))
  return { count, end, snapshot: new StartSnapshot(take) }
})

describe("StartSnapshot", () => {
  it.effect("uses the snapshot that has begun", () =>
    Effect.gen(function* () {
      const { count, end, snapshot } = yield* counted
      yield* snapshot.begin
      assert.strictEqual(count.taken, 1)
      const taken = yield* Effect.forkChild(snapshot.taken)
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(taken)
      assert.deepStrictEqual(count, { taken: 1, interrupted: 0 })
    })
  )

  it.effect("takes one where none has begun", () =>
    Effect.gen(function* () {
      const { count, end, snapshot } = yield* counted
      yield* Deferred.succeed(end, undefined)
      yield* snapshot.taken
      assert.deepStrictEqual(count, { taken: 1, interrupted: 0 })
    })
  )

  it.effect("ends what has begun when its waiter is interrupted", () =>
    Effect.gen(function* () {
      const { count, snapshot } = yield* counted
      yield* snapshot.begin
      const taken = yield* Effect.forkChild(snapshot.taken, { startImmediately: true })
      yield* Fiber.interrupt(taken)
      assert.deepStrictEqual(count, { taken: 1, interrupted: 1 })
    })
  )
})
