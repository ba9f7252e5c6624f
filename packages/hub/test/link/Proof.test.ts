import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { challengeText, PROVE_WITHIN_SECONDS, rotationText } from "@corral/domain/link/EdgeLink"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Effect, Result } from "effect"
import { WebSocket } from "ws"
import { within } from "@corral/testing/time/Until"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { newChallenge, Proofs } from "../../src/link/Proofs.ts"
import { LinkedEdge, newKeyPair, offer, signed } from "../harness/LinkedEdge.ts"
import { newId } from "@corral/testing/hub/Mirror"
import { deviceOf, stateOf, until, type World, worldOf } from "./World.ts"

const codeOf = <A>(answer: Result.Result<A, { readonly code: string }>): string =>
  Result.isFailure(answer) ? answer.failure.code : "taken"

describe("Proof of a device", () => {
  const hub = new HubInProcess()
  let world: World
  beforeAll(async () => {
    await hub.start()
    world = await worldOf(hub)
  })
  afterAll(() => hub.remove())

  it("brings the device online with its offer", async () => {
    assert.strictEqual(await stateOf(world), "offline")
    const edge = await LinkedEdge.link(hub.url, world)
    assert.strictEqual(edge.hub, hub.url)
    assert.strictEqual(await stateOf(world), "online")
    const { body } = await world.client.ask<{
      readonly items: ReadonlyArray<{ readonly agents: ReadonlyArray<unknown> }>
    }>("GET", "/client/targets")
    assert.strictEqual(body.items[0]?.agents.length, 2)
    await edge.leave()
    await until("the device offline", async () => (await stateOf(world)) === "offline")
  })

  it("gets the same response for every mistake, and the link ends", async () => {
    const { client, deviceId, key } = world
    const revoked = await deviceOf(client)
    await client.ask("PATCH", `/client/devices/${revoked.deviceId}`, { body: { state: "revoked" } })
    const removed = await deviceOf(client)
    await client.ask("DELETE", `/client/devices/${removed.deviceId}`)
    const desktop = await deviceOf(client, "desktop")
    const unregistered = { deviceId: newId<DeviceId>("dev"), key }
    const other = await LinkedEdge.dial(hub.url, world)
    await other.hello()
    const cases: ReadonlyArray<
      readonly [
        string,
        { readonly deviceId: DeviceId; readonly key: typeof key },
        Parameters<LinkedEdge["prove"]>[0]
      ]
    > = [
      ["another key", { deviceId, key: newKeyPair() }, {}],
      ["the text of another Hub", world, { hub: "https://hub.example" }],
      ["a challenge of another socket", world, { challenge: other.challenge }],
      ["no signature", world, { signature: "" }],
      ["a signature that is none", world, { signature: "A".repeat(86) }],
      ["a revoked device", revoked, {}],
      ["a removed device", removed, {}],
      ["a device that is no Edge", desktop, {}],
      ["no device", unregistered, {}]
    ]
    const sentences = new Set<string>()
    for (const [what, dialling, changed] of cases) {
      const edge = await LinkedEdge.dial(hub.url, dialling)
      await edge.hello()
      const answer = await edge.prove(changed)
      assert.strictEqual(codeOf(answer), "unauthorized", what)
      if (Result.isFailure(answer)) sentences.add(answer.failure.message)
      assert.strictEqual((await within(edge.closed, 5_000, what)).code, 4401, what)
      await edge.cut()
    }
    assert.strictEqual(sentences.size, 1)
    await other.cut()
  })

  it("is valid once, and no call is allowed before it", async () => {
    const edge = await LinkedEdge.dial(hub.url, world)
    assert.strictEqual(codeOf(await edge.prove({ challenge: "x" })), "unauthorized")
    const again = await LinkedEdge.dial(hub.url, world)
    await again.hello()
    const { challenge } = again
    assert.strictEqual(codeOf(await again.prove()), "taken")
    assert.strictEqual(codeOf(await again.prove({ challenge })), "unauthorized")
    const early = await LinkedEdge.dial(hub.url, world)
    assert.strictEqual(codeOf(await early.heartbeat()), "unauthorized")
    for (const one of [edge, again, early]) {
      assert.strictEqual((await one.closed).code, 4401)
      await one.cut()
    }
  })

  it("is refused after its challenge has expired", async () => {
    const { deviceId, key } = await deviceOf(world.client)
    const prove = (issuedAt: number) => {
      const expected = newChallenge(deviceId, issuedAt)
      const { text: challenge } = expected
      const signature = signed(key, challengeText({ hub: hub.url, deviceId, challenge }))
      return hub.people.act(
        Effect.flatMap(Proofs, ({ check }) =>
          check({ deviceId, hub: hub.url, expected, challenge, signature })
        ).pipe(Effect.catchTag("SqlError", Effect.die), Effect.result, Effect.provide(Proofs.layer))
      )
    }
    const now = Date.now()
    assert.strictEqual(codeOf(await prove(now)), "taken")
    assert.strictEqual(codeOf(await prove(now - PROVE_WITHIN_SECONDS * 1_000 - 1)), "unauthorized")
  })

  it("can be renewed on the same socket, which keeps its generation", async () => {
    const edge = await LinkedEdge.link(hub.url, world)
    const { generation } = edge
    await edge.hello()
    assert.strictEqual(codeOf(await edge.prove()), "taken")
    assert.strictEqual(edge.generation, generation)
    assert.strictEqual(codeOf(await edge.heartbeat()), "taken")
    await edge.leave()
  })

  it("refuses an offer that can't be stored", async () => {
    const many = Array.from({ length: 201 }, () => offer.agents[0]) as unknown as typeof offer.agents
    const huge = [{ ...offer.agents[0], label: "x".repeat(300_000) }] as unknown as typeof offer.agents
    const nul = [{ ...offer.agents[0], label: "a\0b" }] as unknown as typeof offer.agents
    const half = [{ ...offer.agents[0], label: "\ud800" }] as unknown as typeof offer.agents
    for (const agents of [many, huge, nul, half]) {
      const edge = await LinkedEdge.dial(hub.url, world)
      await edge.hello()
      assert.strictEqual(
        codeOf(await edge.prove({ offer: { ...offer, agents } })),
        "schema_validation_failed"
      )
      await edge.cut()
    }
    const edge = await LinkedEdge.link(hub.url, world)
    assert.strictEqual(codeOf(await edge.heartbeat({ ...offer, version: "\0" })), "schema_validation_failed")
    assert.strictEqual(codeOf(await edge.heartbeat({ ...offer, version: "2" })), "taken")
    await edge.leave()
  })

  it("needs the new key after a rotation that the new key signed", async () => {
    const { deviceId, key } = await deviceOf(world.client)
    const edge = await LinkedEdge.link(hub.url, { deviceId, key })
    const next = newKeyPair()
    const text = (publicKey: string) =>
      rotationText({ hub: hub.url, deviceId, publicKey, generation: edge.generation })
    assert.strictEqual(
      codeOf(await edge.rotate(next.publicKey, signed(key, text(next.publicKey)))),
      "schema_validation_failed"
    )
    const { publicKey } = world.key
    assert.strictEqual(
      codeOf(await edge.rotate(publicKey, signed(world.key, text(publicKey)))),
      "schema_validation_failed"
    )
    assert.strictEqual(codeOf(await edge.rotate(next.publicKey, signed(next, text(next.publicKey)))), "taken")
    assert.strictEqual(codeOf(await edge.heartbeat()), "taken")
    await edge.leave()
    const old = await LinkedEdge.dial(hub.url, { deviceId, key })
    await old.hello()
    assert.strictEqual(codeOf(await old.prove()), "unauthorized")
    await old.cut()
    const fresh = await LinkedEdge.link(hub.url, { deviceId, key: next })
    await fresh.leave()
  })

  it("is refused from a browser and from another Host", async () => {
    for (const headers of [
      { origin: hub.url },
      { origin: "https://elsewhere.example" },
      { host: "elsewhere.example" }
    ]) {
      const socket = new WebSocket(`${hub.url.replace(/^http/, "ws")}/edge/link`, { headers })
      socket.on("error", () => undefined)
      const status = new Promise<number | undefined>((resolve) => {
        socket.once("unexpected-response", (_, { statusCode }) => resolve(statusCode))
        socket.once("open", () => resolve(101))
      })
      assert.strictEqual(await within(status, 5_000, "the refusal"), 403)
      socket.terminate()
    }
  })

  it("works during garbage, huge frames and a flood of sockets", async () => {
    const edge = await LinkedEdge.link(hub.url, world)
    const hostile = async (frames: ReadonlyArray<string | Buffer>): Promise<void> => {
      const socket = new WebSocket(`${hub.url.replace(/^http/, "ws")}/edge/link`)
      const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
      socket.on("error", () => undefined)
      await new Promise((resolve) => socket.once("open", resolve))
      for (const frame of frames) socket.send(frame)
      socket.close()
      await within(closed, 10_000, "the hostile socket's end")
    }
    await hostile([
      "",
      "x",
      "[",
      "null",
      "[null]",
      "5",
      "{}",
      '[{"_tag":"Request"}]',
      '[{"_tag":"Ack","requestId":"1"}]'
    ])
    await hostile([
      Buffer.from([0xff, 0xfe]),
      JSON.stringify([{ _tag: "Request", id: "1", tag: "__proto__", payload: {}, headers: [] }])
    ])
    await hostile([JSON.stringify([{ _tag: "Request", id: "1", tag: "Prove", payload: {}, headers: [] }])])
    await hostile(["x".repeat(9 * 1_048_576)])
    const sockets = await Promise.all(Array.from({ length: 300 }, () => LinkedEdge.dial(hub.url, world)))
    const late = await LinkedEdge.link(hub.url, await deviceOf(world.client))
    assert.strictEqual(codeOf(await late.heartbeat()), "taken")
    assert.strictEqual(codeOf(await edge.heartbeat()), "taken")
    await Promise.all(sockets.map((socket) => socket.cut()))
    await edge.leave()
  })
})
