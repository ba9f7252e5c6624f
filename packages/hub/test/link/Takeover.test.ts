/** Devices that connect at the same time share the statements that take their links over. */
import type { Device } from "@corral/domain/device/Device"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { newId } from "@corral/testing/hub/Mirror"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { within } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { LinkedEdge, newKeyPair } from "../harness/LinkedEdge.ts"
import { Statements } from "../harness/Statements.ts"
import { stateOf, type World, worldOf } from "./World.ts"

describe("takeovers", () => {
  const hub = new HubInProcess()
  const statements = new Statements(hub)
  let world: World
  beforeAll(async () => {
    await hub.start()
    world = await worldOf(hub)
  })
  afterAll(() => hub.remove())

  /** Devices of the world's person. They are stored directly: a person may register few at a time. */
  const newDevices = async (count: number) => {
    const devices = Array.from({ length: count }, () => ({
      deviceId: newId<DeviceId>("dev"),
      key: newKeyPair()
    }))
    const [ids, keys] = [devices.map(({ deviceId }) => deviceId), devices.map(({ key }) => key.publicKey)]
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          INSERT INTO devices (id, owner_id, name, kind, public_key, created_at)
          SELECT id, ${world.client.userId}, 'laptop', 'edge', key, now()
          FROM unnest(${ids}::text[], ${keys}::text[]) AS device (id, key)`
      )
    )
    return devices
  }

  it("of many devices at once are each device's own", async () => {
    const devices = await newDevices(24)
    for (const generation of [1, 2]) {
      const edges = await Promise.all(devices.map((device) => LinkedEdge.link(hub.url, device)))
      assert.deepStrictEqual(new Set(edges.map((edge) => edge.generation)), new Set([generation]))
      const renewed = await Promise.all(edges.map((edge) => edge.heartbeat()))
      assert.isTrue(renewed.every(Result.isSuccess))
    }
    const { body } = await world.client.ask<{ readonly items: ReadonlyArray<Device> }>(
      "GET",
      "/client/devices?limit=100"
    )
    const online = new Set(body.items.filter(({ state }) => state === "online").map(({ id }) => id))
    for (const { deviceId } of devices) assert.isTrue(online.has(deviceId))
  })

  it("of one device in one statement have different generations, and one link stays", async () => {
    const [device, earlier, stranger] = await newDevices(3)
    assert.isDefined(device)
    assert.isDefined(earlier)
    assert.isDefined(stranger)
    const dial = (dialled: typeof device) => LinkedEdge.dial(hub.url, { ...dialled, instanceId: "one" })
    const ours = await Promise.all([device, device, device].map(dial))
    const other = await dial(stranger)
    const edges = [...ours, other]
    for (const edge of edges) await edge.hello()
    // Keys can be read meanwhile; the first takeover waits, and the others gather behind it.
    const release = await statements.hold("LOCK TABLE devices IN EXCLUSIVE MODE")
    const first = LinkedEdge.link(hub.url, earlier)
    await statements.untilOneWaits()
    const proofs = ours.map((edge) => edge.prove())
    // Its key is read after those of the others.
    assert.isTrue(Result.isFailure(await other.prove({ signature: "" })))
    await release()
    await first
    assert.isTrue((await Promise.all(proofs)).every(Result.isSuccess))
    const inOrder = ours.toSorted((a, b) => a.generation - b.generation)
    assert.deepStrictEqual(
      inOrder.map(({ generation }) => generation),
      [1, 2, 3]
    )
    for (const older of inOrder.slice(0, 2))
      assert.strictEqual((await within(older.closed, 2_000, "the older link's end")).code, 4409)
    const renewed = await Promise.all(inOrder.slice(2).map((newest) => newest.heartbeat()))
    assert.isTrue(renewed.every(Result.isSuccess))
    for (const edge of edges) await edge.cut()
  })

  it("of a locked device wait alone", async () => {
    const [locked, ...others] = await newDevices(3)
    assert.isDefined(locked)
    const release = await statements.hold(`SELECT 1 FROM devices WHERE id = '${locked.deviceId}' FOR UPDATE`)
    const waiting = LinkedEdge.link(hub.url, locked)
    await Promise.all(others.map((device) => LinkedEdge.link(hub.url, device)))
    assert.strictEqual(await stateOf({ ...world, ...locked }), "offline")
    await release()
    assert.strictEqual((await waiting).generation, 1)
    assert.strictEqual(await stateOf({ ...world, ...locked }), "online")
  })
})
