import { describe, expect, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Queue, Scope } from "effect"
import { groupCommit } from "../../src/inbox/Inbox.ts"

/** A writer whose groups wait for the test, in a scope that the test closes. */
const makeWriter = Effect.gen(function* () {
  const groups = yield* Queue.unbounded<{
    readonly items: ReadonlyArray<number>
    readonly finish: Deferred.Deferred<ReadonlyArray<string>, "full">
  }>()
  const scope = yield* Scope.make()
  const store = yield* groupCommit(2, (items: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      const finish = yield* Deferred.make<ReadonlyArray<string>, "full">()
      yield* Queue.offer(groups, { items, finish })
      return yield* Deferred.await(finish)
    })
  ).pipe(Effect.provideService(Scope.Scope, scope))
  const start = (item: number) => Effect.forkChild(Effect.exit(store(item)), { startImmediately: true })
  return { close: Scope.close(scope, Exit.void), next: Queue.take(groups), start, store }
})

const isInterrupted = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

describe("groupCommit", () => {
  it.effect("writes items that arrive during a write together, up to the limit", () =>
    Effect.gen(function* () {
      const { next, start } = yield* makeWriter
      const fibers = [yield* start(1)]
      const first = yield* next
      for (const item of [2, 3, 4]) fibers.push(yield* start(item))
      yield* Deferred.succeed(first.finish, ["one"])
      const second = yield* next
      yield* Deferred.succeed(second.finish, ["two", "three"])
      const third = yield* next
      yield* Deferred.succeed(third.finish, ["four"])
      expect([first.items, second.items, third.items]).toEqual([[1], [2, 3], [4]])
      const results = yield* Effect.forEach(fibers, Fiber.join)
      expect(results).toEqual(["one", "two", "three", "four"].map(Exit.succeed))
    })
  )

  it.effect("fails every item of a group that fails, and writes the next group", () =>
    Effect.gen(function* () {
      const { next, start } = yield* makeWriter
      const one = yield* start(1)
      const first = yield* next
      const [two, three, four] = [yield* start(2), yield* start(3), yield* start(4)]
      yield* Deferred.succeed(first.finish, ["one"])
      yield* Deferred.fail((yield* next).finish, "full")
      yield* Deferred.succeed((yield* next).finish, ["four"])
      const results = yield* Effect.forEach([one, two, three, four], Fiber.join)
      expect(results).toEqual([
        Exit.succeed("one"),
        Exit.fail("full"),
        Exit.fail("full"),
        Exit.succeed("four")
      ])
    })
  )

  it.effect("does not write an item whose caller is interrupted before its group starts", () =>
    Effect.gen(function* () {
      const { next, start } = yield* makeWriter
      yield* start(1)
      const first = yield* next
      const two = yield* start(2)
      yield* start(3)
      yield* Fiber.interrupt(two)
      yield* Deferred.succeed(first.finish, ["one"])
      expect((yield* next).items).toEqual([3])
    })
  )

  it.effect("interrupts the callers of written, pending and later items when its scope closes", () =>
    Effect.gen(function* () {
      const { close, next, start } = yield* makeWriter
      const written = yield* start(1)
      yield* next
      const pending = yield* start(2)
      yield* close
      const later = yield* start(3)
      const results = yield* Effect.forEach([written, pending, later], Fiber.join)
      expect(results.map(isInterrupted)).toEqual([true, true, true])
    })
  )
})
