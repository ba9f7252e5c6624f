/** The id of every replaced adapter at a Hub whose Edge offers the one that replaced it: agents of sessions, their conversations, and tasks. */
import { replacedAdapters } from "@corral/domain/offer/Offer"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { makeTask, worldOf } from "../link/World.ts"

describe.each([...replacedAdapters])("the id %s", (replaced, by) => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const linked = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    await edge.offerAgent(by)
    return { world, edge }
  }

  it("adds the agent of today to a session", async () => {
    const { world } = await linked()
    const talk = await Talk.open(world, { agentId: replaced })
    assert.strictEqual((await talk.addAgent({ agentId: replaced })).agentId, by)
  })

  it("is that of an agent that a session has: its next turn starts, and continues its conversation", async () => {
    const { edge, world } = await linked()
    const talk = await Talk.open(world, { agentId: by })
    await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.asVoid(sql`UPDATE session_agents SET agent_id = ${replaced} WHERE id = ${talk.agentId}`)
      )
    )
    const first = await talk.send("One")
    const turn = await edge.turn(0)
    assert.strictEqual(turn.create.agentId, replaced, "an Edge of any version finds it")
    await edge.perform(turn, "One is done.")
    await talk.inState(first, "delivered")
    await talk.answer(turn.runId)
    await talk.send("Two")
    const next = await edge.turn(1)
    assert.strictEqual(next.create.resume, turn.runId)
    // A message for the run that is live: its agent accepts input.
    await edge.begin(next)
    const sent = await talk.trySend("Now", { when: "now" })
    assert.strictEqual(sent.status, 201, sent.text)
  })

  it("is that of a task, also of one that continues a run of the agent of today", async () => {
    const { edge, world } = await linked()
    const task = { workspace: "demo", mode: "ask" }
    const first = await makeTask(world, { ...task, agentId: replaced })
    assert.strictEqual(first.status, 201, first.text)
    const turn = await edge.turn(0)
    await edge.perform(turn, "Done.")
    for (const agentId of [by, replaced]) {
      const continued = await makeTask(world, { ...task, agentId, resume: turn.runId })
      assert.strictEqual(continued.status, 201, continued.text)
    }
    const other = await makeTask(world, { ...task, agentId: "scripted", resume: turn.runId })
    assert.notStrictEqual(codeOf(other), undefined)
  })

  it("is that of the agent of a session that a task joins", async () => {
    const { edge, world } = await linked()
    const talk = await Talk.open(world, { agentId: by })
    const task = { workspace: "demo", mode: "ask", agentId: replaced, sessionId: talk.sessionId }
    const created = await makeTask(world, task)
    assert.strictEqual(created.status, 201, created.text)
    await edge.turn(0)
    const { body } = await world.client.ask<{ readonly agents: ReadonlyArray<{ readonly id: string }> }>(
      "GET",
      `/client/sessions/${talk.sessionId}`
    )
    assert.deepStrictEqual(
      body.agents.map(({ id }) => id),
      [talk.agentId]
    )
  })
})
