/** A Hub on a machine whose clock is wrong, next to another Hub on the same database. */
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import * as Hub from "../../src/Hub.ts"
import { HubServer } from "../../src/http/Server.ts"
import { HubIdempotency } from "../../src/HubIdempotency.ts"
import { Tasks } from "../../src/task/Tasks.ts"
import { LinkedEdge } from "../harness/LinkedEdge.ts"
import { worldOf } from "../link/World.ts"

const machine = Effect.runSync(Clock.Clock)

/** A clock that is wrong by `offBy.ms`. */
const wrongClock = (offBy: { ms: number }): Clock.Clock => {
  const millis = () => Date.now() + offBy.ms
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: () => BigInt(millis()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(millis()) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => machine.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: machine.monotonicTimeNanos,
    sleep: (duration) => machine.sleep(duration)
  }
}

describe("A Hub whose machine has a wrong clock", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const openOther = async (offBy: { ms: number }) => {
    const scope = Scope.makeUnsafe()
    onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const config = {
      ...hubDefaults,
      home: hub.home,
      maxConnections: 6,
      databaseUrl: hub.databaseUrl === undefined ? undefined : Redacted.make(hub.databaseUrl)
    }
    const clock = Layer.succeedContext(Context.make(Clock.Clock, wrongClock(offBy)))
    const layer = Layer.provide(Hub.wholeHubLayer, [Layer.succeed(HubConfig, config), clock])
    return await Effect.runPromise(Layer.buildWithScope(layer, scope))
  }

  it.each([120_000, -120_000, 86_400_000, -86_400_000])(
    "keeps devices online and leases, keys and starts of the other Hub when its clock is off by %i ms",
    async (ms) => {
      const context = await openOther({ ms })
      const world = await worldOf(hub)
      const edge = await LinkedEdge.link(hub.url, world)
      onTestFinished(() => edge.cut())
      const state = await Effect.runPromise(
        Effect.provideContext(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* sql`INSERT INTO idempotency (scope, key, fingerprint, body, created_at) VALUES (${`skew ${ms}`}, 'k', 'f', '{}', now())`
            yield* (yield* HubIdempotency).deleteExpired
            yield* (yield* Tasks).failUnanswered
            const [row] = yield* sql<{ readonly keys: number }>`
              SELECT count(*)::int AS keys FROM idempotency WHERE scope = ${`skew ${ms}`}`
            return { ...row, off: (yield* Clock.currentTimeMillis) - Date.now() }
          }),
          context
        )
      )
      assert.strictEqual(state.keys, 1)
      assert.isBelow(Math.abs(state.off), 1_000)
      const { url } = Context.get(context, HubServer)
      const device = await fetch(`${url}/client/devices/${world.deviceId}`, {
        headers: { authorization: `Bearer ${world.client.token}` }
      })
      assert.deepInclude(await device.json(), { state: "online" })
      assert.deepStrictEqual(await (await fetch(`${url}/health`)).json(), { status: "degraded" })
      assert.approximately(Context.get(context, DatabaseClock).skewMs(), ms, 1_000)
    }
  )

  it("keeps the time when the machine's clock is set while it works", async () => {
    const offBy = { ms: 0 }
    const context = await openOther(offBy)
    const { url } = Context.get(context, HubServer)
    const health = async () => (await fetch(`${url}/health`)).json()
    assert.deepStrictEqual(await health(), { status: "ok" })
    offBy.ms = 60_000
    const off = await Effect.runPromise(
      Effect.provideContext(
        Effect.map(Clock.currentTimeMillis, (now) => now - Date.now()),
        context
      )
    )
    assert.isBelow(Math.abs(off), 1_000)
    assert.deepStrictEqual(await health(), { status: "degraded" })
    offBy.ms = 1_000
    assert.deepStrictEqual(await health(), { status: "ok" })
  })
})
