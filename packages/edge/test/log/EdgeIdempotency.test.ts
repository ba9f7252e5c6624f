import { IdempotencyConflict, IdempotencyInFlight } from "@corral/domain/errors/Failures"
import { assert, layer } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { deleteExpiredResults, EdgeIdempotency, type ResultRows } from "../../src/log/EdgeIdempotency.ts"
import { Store } from "../../src/store/Store.ts"

interface Body {
  readonly n: number
}
const scope = "local POST /v1/runs"

/** A write that counts how often it was made, and commits what is kept of it. */
const counted = Effect.gen(function* () {
  const store = yield* Store
  let creations = 0
  return (keep: ResultRows<Body>) =>
    Effect.suspend(() => {
      const body = { n: ++creations }
      return Effect.as(store.commit(keep(body)), body)
    })
})

let keys = 0
const newKey = () => `key-${++keys}`

layer(Layer.provideMerge(EdgeIdempotency.layer, Store.layerMemory))("Idempotency", (it) => {
  it.effect("answers the same request again without writing again", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const key = newKey()
      const requested = {
        scope,
        key,
        request: { workspace: "api", input: { text: "a", more: [1, { x: 1, y: 2 }] } }
      }
      assert.deepStrictEqual(yield* once(requested, write), { body: { n: 1 }, replayed: false })
      assert.deepStrictEqual(yield* once(requested, write), { body: { n: 1 }, replayed: true })
      const reordered = { input: { more: [1, { y: 2, x: 1 }], text: "a" }, workspace: "api" }
      assert.deepStrictEqual(yield* once({ ...requested, request: reordered }, write), {
        body: { n: 1 },
        replayed: true
      })
    })
  )

  it.effect("refuses another request under the same key", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const key = newKey()
      yield* once({ scope, key, request: { text: "a", list: [1, 2] } }, write)
      for (const request of [
        { text: "b", list: [1, 2] },
        { text: "a", list: [2, 1] },
        { text: "a" },
        {},
        null,
        undefined
      ]) {
        const failure = yield* Effect.flip(once({ scope, key, request }, write))
        assert.instanceOf(failure, IdempotencyConflict)
      }
      assert.deepStrictEqual((yield* once({ scope, key: newKey(), request: null }, write)).body, { n: 2 })
    })
  )

  it.effect("keeps keys of another principal, method or path apart", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const key = newKey()
      const scopes = [scope, "other POST /v1/runs", "local POST /v1/permissions/decide", `${scope}\n${key}`]
      const answers = yield* Effect.forEach(scopes, (each) => once({ scope: each, key, request: {} }, write))
      assert.deepStrictEqual(
        answers.map(({ body, replayed }) => [body.n, replayed]),
        [
          [1, false],
          [2, false],
          [3, false],
          [4, false]
        ]
      )
    })
  )

  it.effect("writes every time where there is no key", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const options = { scope, key: undefined, request: {} }
      yield* once(options, write)
      assert.deepStrictEqual(yield* once(options, write), { body: { n: 2 }, replayed: false })
    })
  )

  it.effect("reports that the first request is in progress, and returns its result once it is done", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const options = { scope, key: newKey(), request: {} }
      const [started, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const slow = (keep: ResultRows<Body>) =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Deferred.await(go)),
          Effect.andThen(write(keep))
        )
      const first = yield* Effect.forkChild(once(options, slow))
      yield* Deferred.await(started)
      assert.instanceOf(yield* Effect.flip(once(options, write)), IdempotencyInFlight)
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual(yield* Fiber.join(first), { body: { n: 1 }, replayed: false })
      assert.deepStrictEqual(yield* once(options, write), { body: { n: 1 }, replayed: true })
    })
  )

  it.effect("lets a request that failed, died or was interrupted be tried again", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const options = { scope, key: newKey(), request: {} }
      assert.strictEqual(yield* Effect.flip(once(options, () => Effect.fail("no"))), "no")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(once(options, () => Effect.die("bug")))))
      const started = yield* Deferred.make<void>()
      const stuck = yield* Effect.forkChild(
        once(options, () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(stuck)
      assert.deepStrictEqual(yield* once(options, write), { body: { n: 1 }, replayed: false })
    })
  )

  it.effect("keeps an answer with the write or not at all", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const store = yield* Store
      const write = yield* counted
      const options = { scope, key: newKey(), request: {} }
      const torn = (keep: ResultRows<Body>) =>
        Effect.as(store.commit([...keep({ n: 0 }), ["INSERT INTO no_such_table VALUES (1)"]]), { n: 0 })
      assert.strictEqual((yield* Effect.flip(once(options, torn)))._tag, "StoreFailed")
      assert.deepStrictEqual(yield* once(options, write), { body: { n: 1 }, replayed: false })
    })
  )

  it.effect("still knows the answer after a restart", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const write = yield* counted
      const options = { scope, key: newKey(), request: { text: "a" } }
      yield* once(options, write)
      const again = Effect.flatMap(EdgeIdempotency, (fresh) => fresh.once(options, write))
      const store = yield* Store
      const restarted = Layer.provide(Layer.fresh(EdgeIdempotency.layer), Layer.succeed(Store, store))
      assert.deepStrictEqual(yield* Effect.provide(again, restarted), { body: { n: 1 }, replayed: true })
    })
  )

  it.effect("forgets after 24 hours, and deletes what is older when it is requested", () =>
    Effect.gen(function* () {
      const { once } = yield* EdgeIdempotency
      const store = yield* Store
      const write = yield* counted
      const options = { scope, key: newKey(), request: {} }
      yield* once(options, write)
      yield* TestClock.adjust(86_399_999)
      assert.isTrue((yield* once(options, write)).replayed)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* once(options, write), { body: { n: 2 }, replayed: false })
      yield* TestClock.adjust(86_400_000)
      assert.isDefined(store.get("SELECT 1 FROM idempotency"))
      yield* deleteExpiredResults(store, yield* Clock.currentTimeMillis)
      assert.isUndefined(store.get("SELECT 1 FROM idempotency"))
    })
  )
})
