import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Result, Scope, Exit } from "effect"
import { within } from "@corral/testing/time/Until"
import * as Hub from "../../src/Hub.ts"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { HubServer } from "../../src/http/Server.ts"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { LinkedEdge } from "../harness/LinkedEdge.ts"
import { worldOf } from "./World.ts"

describe("Time limits of a link", () => {
  const hub = new HubInProcess()
  const scope = Scope.makeUnsafe()
  /** A Hub on the same database with shorter time limits. */
  let url = ""
  beforeAll(async () => {
    await hub.start()
    const config = {
      ...hubDefaults,
      home: hub.home,
      maxConnections: 4,
      databaseUrl: hub.databaseUrl === undefined ? undefined : Redacted.make(hub.databaseUrl),
      link: { accessSeconds: 3, unprovedMs: 3_000 }
    }
    const layer = Layer.provide(Hub.hubLayer, Layer.succeed(HubConfig, config))
    const built = await Effect.runPromise(Layer.buildWithScope(layer, scope))
    url = Context.get(built, HubServer).url
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await hub.remove()
  })

  it("ends a socket without a proof", async () => {
    const edge = await LinkedEdge.dial(url, await worldOf(hub))
    await edge.hello()
    assert.strictEqual((await within(edge.closed, 7_000, "the end")).code, 4401)
    await edge.cut()
  })

  it("is extended by another proof, and ends when the last proof expires", async () => {
    const edge = await LinkedEdge.link(url, await worldOf(hub))
    const { generation } = edge
    const startedAt = Date.now()
    while (Date.now() - startedAt < 4_000) {
      await edge.hello()
      assert.isTrue(Result.isSuccess(await edge.prove()))
    }
    // Longer than the first proof was good for.
    assert.isTrue(Result.isSuccess(await edge.heartbeat()))
    assert.strictEqual(edge.generation, generation)
    assert.strictEqual((await within(edge.closed, 6_000, "the end")).code, 4401)
  })

  it("ends with the Hub, which closes with the code for a restart", async () => {
    const edge = await LinkedEdge.link(hub.url, await worldOf(hub))
    assert.strictEqual((await hub.end()).code, 0)
    assert.strictEqual((await edge.closed).code, 1012)
    await hub.start()
  })
})
