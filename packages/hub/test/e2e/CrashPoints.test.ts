import { assert, describe, it } from "@effect/vitest"
import { prove } from "@corral/domain/access/Authorization"
import type { OnOffline } from "@corral/domain/task/Task"
import type { UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { startCommandId } from "../../src/edges/CommandRequest.ts"
import { Commands } from "../../src/edges/Commands.ts"
import { Tasks } from "../../src/task/Tasks.ts"
import { HubClient } from "@corral/testing/hub/HubClient"
import { type HubProcess, openHub } from "@corral/testing/hub/HubProcess"
import { LinkedEdge, taken } from "../harness/LinkedEdge.ts"
import { createRun } from "@corral/testing/hub/Mirror"
import { reportOffer } from "@corral/testing/hub/Offers"
import { untilTask, type World, worldOf } from "../link/World.ts"

/** Progress of a task when its Hub stops. */
const points = ["the task", "its run", "its command"] as const
type Point = (typeof points)[number]

describe("Hub that stops during the dispatch of a task", () => {
  /** Does what a Hub does until then, and makes it a while ago. */
  const until = async (
    hub: HubProcess,
    world: World,
    onOffline: OnOffline,
    point: Point
  ): Promise<string> => {
    const { client, deviceId, projectId } = world
    await reportOffer(hub, deviceId, { workspaces: [createRun.workspace] })
    const owner = client.userId
    assert.isDefined(owner)
    return hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const commands = yield* Commands
        const tasks = yield* Tasks
        const proof = yield* Effect.fromResult(
          prove("task.create", { principal: owner satisfies UserId, subject: projectId }, undefined)
        )
        const task = { ...createRun, projectId, targetId: deviceId, onOffline }
        const { id } = yield* sql.withTransaction(tasks.create(proof, yield* tasks.newId, task))
        if (point !== "the task") {
          const claimed = yield* tasks.claim(deviceId, undefined)
          assert.isDefined(claimed)
          const { create, runId } = claimed
          const ask = commands.send({
            id: startCommandId(runId),
            targetId: deviceId,
            name: "StartRun",
            payload: { runId, create },
            isDurable: true,
            answerTimeoutMs: 10
          })
          if (point === "its command") assert.deepStrictEqual(yield* ask, { _tag: "Waits" })
        }
        yield* sql`UPDATE tasks SET updated_at = now() - interval '1 minute' WHERE id = ${id}`
        yield* sql`UPDATE devices SET lease_until = NULL WHERE id = ${deviceId}`
        return id
      })
    )
  }
  const restarted = async (hub: HubProcess, world: World): Promise<World> => {
    await hub.start()
    const { token, userId } = world.client
    return { ...world, client: new HubClient(hub.url, token, userId) }
  }

  it("fails a task that must not wait and queues one that may, while the target is offline", async () => {
    const hub = await openHub()
    const before = await worldOf(hub)
    await hub.end("SIGKILL")
    const created: Array<readonly [string, OnOffline]> = []
    for (const point of points)
      for (const onOffline of ["fail", "queue"] as const)
        created.push([await until(hub, before, onOffline, point), onOffline])
    const world = await restarted(hub, before)
    for (const [id, onOffline] of created) {
      const task = await untilTask(world, id, onOffline === "fail" ? "failed" : "queued")
      assert.deepStrictEqual(
        [task.runId, task.error?.code],
        [undefined, onOffline === "fail" ? "target_offline" : undefined]
      )
    }
    const edge = await LinkedEdge.link(hub.url, world)
    for (const [id, onOffline] of created) if (onOffline === "queue") await untilTask(world, id, "dispatched")
    assert.lengthOf(edge.commands, points.length)
    await edge.leave()
  })

  it("has the run started once after a restart: killed before and after the answer of the Edge", async () => {
    const hub = await openHub()
    const before = await worldOf(hub)
    const edge = await LinkedEdge.link(hub.url, { ...before, answers: () => undefined })
    const { body: response } = await before.client.ask<{ readonly id: string }>("POST", "/web/agent-tasks", {
      body: { ...createRun, projectId: before.projectId, targetId: before.deviceId }
    })
    const [start] = await edge.count(1)
    assert.isDefined(start)
    await hub.end("SIGKILL")
    // Its answer is on the way when another one is killed.
    await hub.start()
    const again = await LinkedEdge.link(hub.url, {
      ...before,
      instanceId: edge.instanceId,
      answers: () => undefined
    })
    const [same] = await again.count(1)
    assert.strictEqual(same?.commandId, start.commandId)
    const outcome = taken(start)
    assert.isDefined(outcome)
    await again.done(start, outcome)
    await hub.end("SIGKILL")
    const world = await restarted(hub, before)
    const last = await LinkedEdge.link(hub.url, { ...world, instanceId: edge.instanceId })
    const task = await untilTask(world, response.id, "dispatched")
    assert.strictEqual(`start.${task.runId}`, start.commandId)
    assert.lengthOf(last.commands, 0)
    await last.leave()
  })
})
