/** Hostile Edges at a real Hub, with and without a proof, beside an honest one that must not notice. */
import { assert } from "@effect/vitest"
import { LINK_PATH } from "@corral/domain/EdgeLink"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import { WebSocket } from "ws"
import { within } from "../../../service/test/harness/Within.ts"
import { openHub } from "../harness/HubProcess.ts"
import { LinkedEdge } from "../harness/LinkedEdge.ts"
import { created, linesOf, started } from "../harness/Mirror.ts"
import { HostileFrames } from "./HostileFrames.ts"
import { makeTask, untilTask, type World, worldOf } from "./World.ts"

/** Frames of one connection at most. */
const BURST = 50

/** Sends that many generated frames; fails where the Hub, or the honest Edge, is worse for it. */
export const attack = async (frames: number, seed: number): Promise<void> => {
  const hub = await openHub()
  const linked = async () => {
    const world = await worldOf(hub)
    const edge = await LinkedEdge.link(hub.url, world)
    const { body } = await makeTask(world)
    const { runId } = await untilTask(world, body.id, "dispatched")
    assert.isDefined(runId)
    await edge.push(runId, 1, linesOf(runId, 1, [created, started]))
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
  const known = {
    deviceId: attacker.world.deviceId,
    foreignDevice: honest.world.deviceId,
    runId: attacker.runId,
    foreignRun: honest.runId
  }
  const hostile = new HostileFrames(seed, known)

  /** Until the Hub ends it, or the burst is over; gives how many frames were sent. */
  const burst = async (isProved: boolean): Promise<number> => {
    const edge = isProved ? await LinkedEdge.dial(hub.url, attacker.world) : undefined
    if (edge !== undefined) {
      await edge.hello()
      // Refused for a while where links follow each other too fast.
      await edge.prove()
    }
    const socket = edge?.socket ?? new WebSocket(hub.url.replace(/^http/, "ws") + LINK_PATH)
    socket.on("error", () => undefined)
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
    if (edge === undefined)
      await within(new Promise((resolve) => socket.once("open", resolve)), 10_000, "a link")
    let sent = 0
    while (sent < BURST && socket.readyState === WebSocket.OPEN) {
      await new Promise((resolve) => socket.send(hostile.frame(), resolve))
      sent++
    }
    socket.close()
    const timer = setTimeout(() => socket.terminate(), 2_000)
    await within(closed, 10_000, "the end of a link")
    clearTimeout(timer)
    await edge?.cut()
    return Math.max(sent, 1)
  }

  let [sent, bursts] = [0, 0]
  while (sent < frames) {
    sent += await burst(bursts % 3 === 0)
    if (++bursts % 20 !== 0) continue
    assert.isTrue(Result.isSuccess(await honest.edge.heartbeat()), `seed ${seed}, after ${sent} frames`)
    assert.strictEqual((await hub.client.ask("GET", "/health")).status, 200)
  }

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
}
