/** Requests that share statements. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import { Gathered, type GatheredOptions } from "../../src/store/Gathered.ts"

type Answer = GatheredOptions<number, string>["answer"]

const textOf = (requests: ReadonlyArray<number>) => Effect.succeed(requests.map(String))
const refused = new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: "refused" }) })

/** Notes the requests of each statement before it is answered. */
const noting = (answer: Answer) => {
  const statements: Array<ReadonlyArray<number>> = []
  const noted: Answer = (requests) =>
    Effect.suspend(() => {
      statements.push(requests)
      return answer(requests)
    })
  return { answer: noted, statements }
}

const askAll = (gathered: Gathered<number, string>, ...requests: ReadonlyArray<number>) =>
  Effect.forEach(requests, (request) => Effect.exit(gathered.ask(request)), { concurrency: "unbounded" })

describe("Gathered", () => {
  it.effect("asks together what comes during a statement, and gives each request its own answer", () =>
    Effect.gen(function* () {
      const first = yield* Deferred.make<void>()
      const { answer, statements } = noting((requests) =>
        Effect.andThen(requests[0] === 1 ? Deferred.await(first) : Effect.void, textOf(requests))
      )
      const gathered = yield* Gathered.make({ answer })
      const alone = yield* Effect.forkChild(gathered.ask(1))
      yield* TestClock.adjust(0)
      const others = yield* Effect.forkChild(askAll(gathered, 2, 3, 2))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(statements, [[1]])
      yield* Deferred.succeed(first, undefined)
      assert.strictEqual(yield* Fiber.join(alone), "1")
      assert.deepStrictEqual(yield* Fiber.join(others), ["2", "3", "2"].map(Exit.succeed))
      assert.strictEqual(yield* gathered.ask(4), "4")
      assert.deepStrictEqual(statements, [[1], [2, 3, 2], [4]])
    })
  )

  it.effect("asks at most as many at a time as its limit", () =>
    Effect.gen(function* () {
      const { answer, statements } = noting(textOf)
      const gathered = yield* Gathered.make({ answer, limit: 2 })
      assert.deepStrictEqual(
        yield* askAll(gathered, 1, 2, 3, 4, 5),
        ["1", "2", "3", "4", "5"].map(Exit.succeed)
      )
      assert.deepStrictEqual(statements, [[1, 2], [3, 4], [5]])
    })
  )

  it.effect("waits between two statements, not before the first one", () =>
    Effect.gen(function* () {
      const { answer, statements } = noting(textOf)
      const gathered = yield* Gathered.make({ answer, interval: "1 second" })
      yield* gathered.ask(1)
      const later = yield* Effect.forkChild(askAll(gathered, 2, 3))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(statements, [[1]])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(later)
      assert.deepStrictEqual(statements, [[1], [2, 3]])
    })
  )

  it.effect("tries each request alone after a defect", () =>
    Effect.gen(function* () {
      const { answer } = noting((requests) =>
        requests.includes(2) ? Effect.die(new Error("damaged")) : textOf(requests)
      )
      const gathered = yield* Gathered.make({ answer })
      const exits = yield* askAll(gathered, 1, 2, 3)
      assert.deepStrictEqual(
        exits.map((exit) => exit._tag),
        ["Success", "Failure", "Success"]
      )
    })
  )

  it.effect("fails all requests of a failed statement, and asks the next ones", () =>
    Effect.gen(function* () {
      let isUp = false
      const { answer } = noting((requests) => (isUp ? textOf(requests) : Effect.fail(refused)))
      const gathered = yield* Gathered.make({ answer })
      assert.deepStrictEqual(yield* askAll(gathered, 1, 2), [Exit.fail(refused), Exit.fail(refused)])
      isUp = true
      assert.strictEqual(yield* gathered.ask(3), "3")
    })
  )

  it.effect("fails requests that the database does not answer within a minute, and asks the next ones", () =>
    Effect.gen(function* () {
      const { answer } = noting((requests) => (requests.includes(1) ? Effect.never : textOf(requests)))
      const gathered = yield* Gathered.make({ answer })
      const first = yield* Effect.forkChild(Effect.exit(gathered.ask(1)))
      yield* TestClock.adjust("59 seconds")
      const second = yield* Effect.forkChild(gathered.ask(2))
      assert.isUndefined(first.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(first))._tag, "Failure")
      assert.strictEqual(yield* Fiber.join(second), "2")
    })
  )
})
