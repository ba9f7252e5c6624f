import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { IdempotencyConflict, IdempotencyInFlight } from "@corral/domain/errors/Failures"
import { Deferred, Effect, Fiber, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { HubIdempotency } from "../src/HubIdempotency.ts"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { People } from "@corral/testing/hub/People"
import { isCancelled } from "./harness/Statements.ts"

/** Two Hubs' worth of services on one database: what one does the other sees. */
describe("HubIdempotency", () => {
  const hub = new HubInProcess()
  let others: People
  let creations = 0

  beforeAll(async () => {
    await hub.start()
    others = new People(hub.home, hub.databaseUrl)
    await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.orDie(sql`CREATE TABLE effects (scope text, answer text)`)
      )
    )
  })
  afterAll(async () => {
    await others.close()
    await hub.remove()
  })

  const Answer = Schema.Struct({ answer: Schema.String })
  type Answer = typeof Answer.Type

  const scope = () => `usr_1 POST /client/projects ${creations++}`

  /** Leaves a trace in the database, as any write does. */
  const write = (scope: string, answer: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO effects (scope, answer) VALUES (${scope}, ${answer})`
      return { answer }
    })

  const once = <E>(
    scope: string,
    key: string | undefined,
    request: unknown,
    effect: Effect.Effect<Answer, E, SqlClient.SqlClient>
  ) =>
    Effect.flatMap(HubIdempotency, ({ runOnce }) =>
      runOnce({ scope, key, request, response: Answer }, effect)
    )

  const traces = (scope: string) =>
    hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.orDie(
          sql<{ answer: string }>`SELECT answer FROM effects WHERE scope = ${scope} ORDER BY answer`
        )
      )
    )

  it("runs a write with a key once, also on another Hub and with another order of the fields", async () => {
    const s = scope()
    const first = await hub.people.act(once(s, "k", { a: 1, b: 2 }, write(s, "first")))
    const again = await others.act(once(s, "k", { b: 2, a: 1 }, write(s, "again")))
    assert.deepStrictEqual(first, { body: { answer: "first" }, replayed: false })
    assert.deepStrictEqual(again, { body: { answer: "first" }, replayed: true })
    assert.strictEqual((await traces(s)).length, 1)
  })

  it("runs a remote write once, reports concurrent requests as in flight, and replays the response", async () => {
    const s = scope()
    const keyed = { scope: s, key: "k", request: { a: 1 }, response: Answer }
    const answers = await hub.people.act(
      Effect.gen(function* () {
        const { runOnceRemotely } = yield* HubIdempotency
        const answer = yield* Deferred.make<{ readonly answer: string }>()
        const started = yield* Deferred.make<void>()
        const first = yield* Effect.forkChild(
          runOnceRemotely(keyed, Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(answer)))
        )
        yield* Deferred.await(started)
        const meanwhile = yield* Effect.flip(runOnceRemotely(keyed, Effect.succeed({ answer: "second" })))
        const other = yield* Effect.flip(
          runOnceRemotely({ ...keyed, request: { a: 2 } }, Effect.succeed({ answer: "other" }))
        )
        yield* Deferred.succeed(answer, { answer: "first" })
        return [meanwhile, other, yield* Fiber.join(first)] as const
      })
    )
    assert.instanceOf(answers[0], IdempotencyInFlight)
    assert.instanceOf(answers[1], IdempotencyConflict)
    assert.deepStrictEqual(answers[2], { body: { answer: "first" }, replayed: false })
    const again = await others.act(
      Effect.flatMap(HubIdempotency, ({ runOnceRemotely }) =>
        runOnceRemotely(keyed, Effect.succeed({ answer: "x" }))
      )
    )
    assert.deepStrictEqual(again, { body: { answer: "first" }, replayed: true })
  })

  it("releases the key when a remote write failed, and keeps it when the outcome is unknown", async () => {
    const s = scope()
    const found = await hub.people.act(
      Effect.gen(function* () {
        const { runOnceRemotely } = yield* HubIdempotency
        const keyed = { scope: s, key: "k", request: {}, response: Schema.String }
        const failed = yield* Effect.flip(runOnceRemotely(keyed, Effect.fail("no")))
        const lost = yield* Effect.exit(runOnceRemotely(keyed, Effect.die("lost")))
        const after = yield* Effect.flip(runOnceRemotely(keyed, Effect.succeed("again")))
        return [failed, lost._tag, after] as const
      })
    )
    assert.deepStrictEqual(found.slice(0, 2), ["no", "Failure"])
    assert.instanceOf(found[2], IdempotencyInFlight)
  })

  it("lets a remote write with an unknown outcome be repeated once it is abandoned", async () => {
    const s = scope()
    const keyed = { scope: s, key: "k", request: {}, response: Schema.String }
    const ask = (answer: Effect.Effect<string, string>) =>
      hub.people.act(
        Effect.flatMap(HubIdempotency, ({ runOnceRemotely }) =>
          Effect.result(runOnceRemotely(keyed, answer, (error) => error === "unknown"))
        )
      )
    const sql = (statement: string) =>
      hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)))
    assert.deepInclude(await ask(Effect.fail("unknown")), { _tag: "Failure", failure: "unknown" })
    assert.deepInclude(await ask(Effect.succeed("too early")), { _tag: "Failure" })
    await sql(`UPDATE idempotency SET created_at = created_at - interval '46 seconds' WHERE scope = '${s}'`)
    assert.deepInclude(await ask(Effect.succeed("found")), {
      _tag: "Success",
      success: { body: "found", replayed: false }
    })
    assert.deepInclude(await ask(Effect.succeed("again")), {
      _tag: "Success",
      success: { body: "found", replayed: true }
    })
  })

  it("runs a write without a key each time", async () => {
    const s = scope()
    await hub.people.act(once(s, undefined, {}, write(s, "a")))
    await hub.people.act(once(s, undefined, {}, write(s, "b")))
    assert.strictEqual((await traces(s)).length, 2)
  })

  it("refuses a key of another request, and separates scopes", async () => {
    const [s, t] = [scope(), scope()]
    await hub.people.act(once(s, "k", { a: 1 }, write(s, "first")))
    const conflict = await others.act(Effect.flip(once(s, "k", { a: 2 }, write(s, "second"))))
    assert.instanceOf(conflict, IdempotencyConflict)
    const { replayed } = await others.act(once(t, "k", { a: 2 }, write(t, "other scope")))
    assert.isFalse(replayed)
    assert.strictEqual((await traces(s)).length, 1)
  })

  it("reports a concurrent request as in flight, on the same and on another Hub", async () => {
    const s = scope()
    const [reached, go] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
    const slow = Effect.gen(function* () {
      yield* Deferred.succeed(reached, undefined)
      yield* Deferred.await(go)
      return yield* write(s, "slow")
    })
    const first = hub.people.act(once(s, "k", {}, slow))
    await hub.people.act(Deferred.await(reached))
    for (const people of [hub.people, others])
      assert.instanceOf(
        await people.act(Effect.flip(once(s, "k", {}, write(s, "fast")))),
        IdempotencyInFlight
      )
    await hub.people.act(Deferred.succeed(go, undefined))
    assert.isFalse((await first).replayed)
    assert.deepStrictEqual((await others.act(once(s, "k", {}, write(s, "late")))).body, { answer: "slow" })
  })

  it("stores nothing for a failed or interrupted write, which may be repeated", async () => {
    const s = scope()
    const failing = Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.withTransaction(Effect.andThen(write(s, "failed"), Effect.fail("no")))
    )
    assert.strictEqual(await hub.people.act(Effect.flip(once(s, "k", {}, failing))), "no")
    const cut = Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const hanging = write(s, "cut").pipe(
        Effect.andThen(Deferred.succeed(reached, undefined)),
        Effect.andThen(Effect.never)
      )
      const fiber = yield* Effect.forkChild(once(s, "k", {}, hanging))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
    })
    await hub.people.act(cut)
    assert.deepStrictEqual(await traces(s), [])
    assert.isFalse((await others.act(once(s, "k", {}, write(s, "done")))).replayed)
    assert.deepStrictEqual(await traces(s), [{ answer: "done" }])
  })

  it("has one effect and one response for 100 concurrent requests that retry while in flight", async () => {
    const s = scope()
    const ask = (people: People, i: number) => {
      const tried = Effect.retry(once(s, "k", {}, write(s, `by ${i}`)), {
        while: (error) => error._tag === "IdempotencyInFlight" || isCancelled(error),
        schedule: Schedule.forever
      })
      return people.act(Effect.orDie(tried))
    }
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => ask(i % 2 === 0 ? hub.people : others, i))
    )
    assert.strictEqual(
      new Set(answers.map((answer) => JSON.stringify((answer as { body: unknown }).body))).size,
      1
    )
    assert.strictEqual((await traces(s)).length, 1)
  })
})
