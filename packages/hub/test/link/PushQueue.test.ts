/** The queue of pushes with a database that does not answer. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { PushQueue, type StorePushes } from "../../src/link/PushQueue.ts"

const link = { deviceId: "dev_01K00000000000000000000000" as DeviceId, generation: 1 }

describe("PushQueue", () => {
  it.effect("fails pushes that the database does not answer within a minute, and stores the next ones", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void>()
      let calls = 0
      let interrupted = 0
      const store: StorePushes = (pushes) =>
        Effect.suspend(() => {
          const stored = Effect.succeed(pushes.map(() => Result.succeed([])))
          if (++calls > 1) return stored
          const waiting = Effect.onInterrupt(Deferred.await(answer), () => Effect.sync(() => interrupted++))
          return Effect.andThen(waiting, stored)
        })
      const context = yield* Effect.context<never>()
      const queue = new PushQueue(store, Effect.runForkWith(context))
      const first = yield* Effect.forkChild(Effect.exit(queue.push(link, [])))
      const second = yield* Effect.forkChild(Effect.exit(queue.push(link, [])))
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual([calls, interrupted], [1, 0])
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(first))._tag, "Failure")
      assert.strictEqual((yield* Fiber.join(second))._tag, "Success")
      assert.deepStrictEqual([calls, interrupted], [2, 1])
    })
  )
})
