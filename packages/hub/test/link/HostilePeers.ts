/** Hostile Edges at a real Hub, with and without a proof, beside an honest one that must not notice. */
import { assert } from "@effect/vitest"
import { LINK_PATH, MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { WebSocket } from "ws"
import { within } from "@corral/testing/time/Until"
import { openHub } from "@corral/testing/hub/HubProcess"
import { LinkedEdge } from "../harness/LinkedEdge.ts"
import { createdRun, linesOf, runStarted } from "@corral/testing/hub/Mirror"
import { HostileFrames } from "./HostileFrames.ts"
import { makeTask, untilTask, type World, worldOf } from "./World.ts"

/** Frames of one connection at most, and those that are sent without waiting. */
const BURST = 300
const CHUNK = 25

export interface Attack {
  /** Frames that the Hub read. */
  readonly frames: number
  readonly connections: number
  /** Of these, with a proof. */
  readonly proved: number
}

/** Sends frames until the Hub has read that many; fails if the Hub or the honest Edge does not work as before. */
export const attack = async (frames: number, seed: number): Promise<Attack> => {
  const hub = await openHub()
  const linked = async () => {
    const world = await worldOf(hub)
    const edge = await LinkedEdge.link(hub.url, world)
    const { body } = await makeTask(world)
    const { runId } = await untilTask(world, body.id, "dispatched")
    assert.isDefined(runId)
    await edge.push(runId, 1, linesOf(runId, 1, [createdRun, runStarted]))
    return { world, edge, runId }
  }
  const [honest, attacker] = [await linked(), await linked()]
  await attacker.edge.cut()

  const state = ({ deviceId, projectId }: World) =>
    hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`
          SELECT (SELECT json_agg(r ORDER BY r.id) FROM runs r WHERE project_id = ${projectId})::text AS runs,
            (SELECT json_agg(t ORDER BY t.id) FROM tasks t WHERE project_id = ${projectId})::text AS tasks,
            (SELECT json_agg(e ORDER BY e.run_id, e.last_seq) FROM run_events e JOIN runs r ON r.id = e.run_id
              WHERE r.project_id = ${projectId})::text AS events,
            (SELECT public_key || workspaces || agents || generation FROM devices WHERE id = ${deviceId}) AS device`
      )
    )
  const before = [await state(honest.world), (await state(attacker.world))[0]?.["runs"]]
  const ids = {
    deviceId: attacker.world.deviceId,
    foreignDevice: honest.world.deviceId,
    runId: attacker.runId,
    foreignRun: honest.runId
  }
  const figures = { frames: 0, connections: 0, proved: 0 }
  /** The same for all links of the attacker: they do not fight over the device. */
  const dialling = { ...attacker.world, instanceId: "hostile" }

  /** A connection, and the generation of its link if it proved itself. */
  const connect = async (
    isProved: boolean
  ): Promise<{ socket: WebSocket; generation?: number; edge?: LinkedEdge }> => {
    if (isProved) {
      const edge = await LinkedEdge.dial(hub.url, dialling)
      await edge.hello()
      const proved = await edge.prove()
      if (Result.isSuccess(proved)) figures.proved++
      return {
        socket: edge.socket,
        edge,
        ...(Result.isSuccess(proved) ? { generation: edge.generation } : {})
      }
    }
    const socket = new WebSocket(hub.url.replace(/^http/, "ws") + LINK_PATH)
    socket.on("error", () => undefined)
    await within(new Promise((resolve) => socket.once("open", resolve)), 10_000, "a link")
    return { socket }
  }

  /** One connection, until the Hub closes it or the burst ends. */
  const burst = async (hostile: HostileFrames, isProved: boolean): Promise<void> => {
    const { edge, generation, socket } = await connect(isProved)
    hostile.generation = generation
    figures.connections++
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
    for (let sent = 0; sent < BURST && socket.readyState === WebSocket.OPEN; sent += CHUNK) {
      for (let i = 0; i < CHUNK; i++) socket.send(hostile.frame(), () => undefined)
      // A pong follows everything that was read before the ping.
      const read = new Promise<number>((resolve) => socket.once("pong", () => resolve(CHUNK)))
      socket.ping(undefined, undefined, () => undefined)
      figures.frames += await within(
        Promise.race([read, closed.then(() => 0)]),
        20_000,
        `an answer (seed ${seed})`
      )
    }
    if (figures.connections % 40 === 0) socket.send("x".repeat(MAX_FRAME_BYTES + 1), () => undefined)
    socket.close()
    const timer = setTimeout(() => socket.terminate(), 2_000)
    await within(closed, 10_000, "the end of a link")
    clearTimeout(timer)
    await edge?.cut()
  }

  const isFair = async (): Promise<void> => {
    assert.isTrue(Result.isSuccess(await honest.edge.heartbeat()), `seed ${seed}, ${figures.frames} frames`)
    assert.strictEqual((await hub.client.ask("GET", "/health")).status, 200)
  }

  /** Its bursts follow each other; the lanes run side by side. */
  const lane = async (number: number): Promise<void> => {
    const hostile = new HostileFrames(seed * 10 + number, ids)
    for (let bursts = 1; figures.frames < frames; bursts++) {
      await burst(hostile, number === 0)
      if (bursts % 20 === 0) await isFair()
    }
  }
  await Promise.all([lane(0), lane(1), lane(2)])

  assert.isTrue(Result.isSuccess(await honest.edge.heartbeat()), `seed ${seed}`)
  assert.deepStrictEqual(
    [await state(honest.world), (await state(attacker.world))[0]?.["runs"]],
    before,
    `seed ${seed}`
  )
  // What is stored of the attacker is what the contract says, and its device links as ever.
  for (const path of ["/client/targets", "/client/devices", `/client/runs/${attacker.runId}/events`])
    assert.strictEqual((await attacker.world.client.ask("GET", path)).status, 200)
  const { body } = await makeTask(honest.world)
  await untilTask(honest.world, body.id, "dispatched")
  return figures
}
