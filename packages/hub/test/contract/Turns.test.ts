/** Runs that continue after a turn, and plans: messages of the session over a real Hub and a real link. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { UserId } from "@corral/domain/identity/Ids"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { ATTACHMENTS_FEATURE, edgeCommands } from "@corral/domain/link/EdgeCommand"
import type { Project } from "@corral/domain/project/Project"
import type { Message } from "@corral/domain/session/Message"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { makeTask, type World, worldOf } from "../link/World.ts"

const plan: RequestedInput = { kind: "plan", title: "A plan", plan: "First this, then that." }
const question: RequestedInput = {
  kind: "question",
  title: "A name",
  questions: [{ id: "name", text: "Which name?", kind: "text" }]
}

describe("Runs that continue after a turn", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const talking = async (agent: object = {}, resume = true) => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world, resume)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge, talk: await Talk.open(world, agent) }
  }
  const startRun = async (agent: object = {}, resume = true) => {
    const scene = await talking(agent, resume)
    const sent = await scene.talk.send("Look around")
    const turn = await scene.edge.turn(0)
    await scene.edge.begin(turn)
    return { ...scene, sent, turn }
  }
  const runOf = async ({ client }: World, { runId }: { readonly runId: string }) =>
    (await client.ask<HubRun>("GET", `/client/runs/${runId}`)).body
  const texts = async (talk: Talk) =>
    (await talk.messages())
      .filter(({ author }) => author.kind === "agent")
      .map(({ outcome, outstanding, text, turn }) => ({ text, turn, outstanding, outcome }))
  const answer = ({ client }: World, id: string, body: object) =>
    client.ask("POST", `/client/inputs/${id}/answer`, { body })
  const finish = ({ client }: World, { runId }: { readonly runId: string }) =>
    client.ask<HubRun>("POST", `/client/runs/${runId}/finish`)

  it("show their work, and have a message for each turn with a text", async () => {
    const { edge, talk, turn, world } = await startRun()
    await edge.work(turn, "one", "running")
    await edge.work(turn, "two", "running")
    await edge.endTurn(turn, "I have started two works.")
    assert.deepInclude<object>(await runOf(world, turn), {
      state: "running",
      turn: "idle",
      outstanding: { count: 2, titles: ["Work one", "Work two"] }
    })
    await edge.work(turn, "one", "completed", true)
    await edge.startTurn(turn)
    assert.deepInclude<object>(await runOf(world, turn), {
      turn: "active",
      outstanding: { count: 1, titles: ["Work two"] }
    })
    await edge.endTurn(turn, " ")
    await edge.work(turn, "two", "completed", true)
    await edge.startTurn(turn)
    await edge.complete(turn, "Both are done.")
    assert.deepStrictEqual(await texts(talk), [
      { text: "I have started two works.", turn: 1, outstanding: 2, outcome: undefined },
      { text: "Both are done.", turn: undefined, outstanding: undefined, outcome: "completed" }
    ])
  })

  it("have one message where the end of the run has the text of the last turn", async () => {
    const { edge, talk, turn } = await startRun()
    await edge.work(turn, "one", "running")
    await edge.endTurn(turn, "It runs in the background.")
    await edge.work(turn, "one", "completed")
    assert.deepStrictEqual(await texts(talk), [
      { text: "It runs in the background.", turn: undefined, outstanding: undefined, outcome: "completed" }
    ])
  })

  it("receive the next message as input while they are idle, one per turn", async () => {
    const { edge, talk, turn } = await startRun()
    await edge.work(turn, "one", "running")
    await edge.endTurn(turn, "It runs in the background.")
    const [second, third] = [await talk.send("And now this"), await talk.send("Then that")]
    const input = await edge.input(0)
    assert.deepInclude<object>(input, {
      runId: turn.runId,
      input: { text: "And now this" },
      messageId: second.id
    })
    const delivered = await talk.inState(second, "delivered")
    assert.strictEqual(delivered.delivery?.runId, turn.runId)
    // The turn of the second message is in progress.
    assert.deepStrictEqual((await talk.messageWith(third.id, () => true)).delivery, { state: "pending" })
    await edge.endTurn(turn, "That too.")
    assert.strictEqual((await edge.input(1)).messageId, third.id)
    await talk.inState(third, "delivered")
    assert.lengthOf(edge.turns, 1)
  })

  it("keep a message of another mode waiting, which says why, until the run is finished", async () => {
    const { edge, talk, turn, world } = await startRun()
    await edge.work(turn, "one", "running")
    const active = await finish(world, turn)
    assert.deepStrictEqual([active.status, codeOf(active)], [409, "conflict"])
    assert.deepInclude<object>(active.body, { details: { reason: "turn_active" } })
    await edge.endTurn(turn, "It runs in the background.")
    const sent = await talk.send("Plan it", { mode: "read_only" })
    const waiting = await talk.messageWith(sent.id, ({ delivery }) => delivery?.waitsFor !== undefined)
    assert.deepStrictEqual(waiting.delivery, { state: "pending", waitsFor: "background" })
    const finished = await finish(world, turn)
    assert.strictEqual(finished.status, 200, finished.text)
    const next = await edge.turn(1)
    assert.deepInclude<object>(next.create, { mode: "read_only", resume: turn.runId })
    assert.isUndefined((await talk.messageWith(sent.id, () => true)).delivery?.waitsFor)
    assert.strictEqual((await runOf(world, turn)).state, "completed")
    const again = await finish(world, turn)
    assert.deepStrictEqual([again.status, again.body.state], [200, "completed"])
  })

  it("keep a message waiting for an answer, and receive it after the turn", async () => {
    const { edge, talk, turn, world } = await startRun()
    const id = await edge.ask(turn, question)
    const sent = await talk.send("And then?")
    await talk.messageWith(sent.id, ({ delivery }) => delivery?.waitsFor === "input")
    assert.strictEqual((await answer(world, id, { answers: { name: "Ada" } })).status, 200)
    const released = await talk.messageWith(sent.id, ({ delivery }) => delivery?.waitsFor === undefined)
    assert.strictEqual(released.delivery?.state, "pending")
    await edge.complete(turn, "Done")
    assert.deepInclude<object>((await edge.turn(1)).create, { resume: turn.runId })
  })

  it("return a message that they did not take to the next turn", async () => {
    const { edge, talk, turn } = await startRun()
    edge.refusesInput = true
    await edge.work(turn, "one", "running")
    await edge.endTurn(turn, "It runs in the background.")
    const sent = await talk.send("And now this")
    await edge.input(0)
    await edge.work(turn, "one", "completed")
    const next = await edge.turn(1)
    await edge.begin(next)
    const delivered = await talk.inState(sent, "delivered")
    assert.strictEqual(delivered.delivery?.runId, next.runId)
  })

  it.each([true, false])(
    "end with an approved plan, and continue with one message of the approver: resumes %s",
    async (resumes) => {
      const { edge, talk, turn, world } = await startRun({ mode: "read_only" }, resumes)
      const waiting = await talk.send("Later", { mode: "ask" })
      const id = await edge.ask(turn, plan)
      const body = { approve: true, mode: "auto_edit", comment: "Start with the tests." }
      assert.strictEqual((await answer(world, id, body)).status, 200)
      const later = await edge.turn(1)
      assert.strictEqual((await talk.messageWith(waiting.id, () => true)).text, "Later")
      await edge.perform(later, "Done")
      const next = await edge.turn(2)
      assert.strictEqual(next.create.mode, "auto_edit")
      assert.strictEqual(next.create.resume, resumes ? later.runId : undefined)
      assert.include(next.create.input.text, "The plan was approved. Carry it out.\n\nStart with the tests.")
      if (!resumes) assert.include(next.create.input.text, "The plan:\n\nFirst this, then that.")
      const approvals = (await talk.messages()).filter(({ text }) =>
        text.startsWith("The plan was approved.")
      )
      assert.deepStrictEqual(
        approvals.map(({ author, mode, to }) => ({ author, mode, to })),
        [
          {
            author: { kind: "user", userId: world.client.userId as UserId },
            mode: "auto_edit",
            to: talk.agentId
          }
        ]
      )
      assert.deepInclude<object>((await texts(talk))[0] ?? {}, { text: plan.plan, outcome: "completed" })
    }
  )

  it("do not speak for a user who did not approve the plan over the Hub", async () => {
    const { edge, talk, turn, world } = await startRun({ mode: "read_only" })
    const other = await hub.signedIn("another person")
    await new Mirror(hub).member(world.client.userId, world.projectId, other.userId as UserId, "owner")
    const id = await edge.ask(turn, plan)
    const forged = {
      _tag: "InputAnswered",
      inputId: id,
      answer: { approve: true },
      shown: {}
    } as const
    await edge.step(turn.runId, { ...forged, by: other.userId, endsRun: true }).pushed
    await talk.answer(turn.runId)
    const messages: ReadonlyArray<Message> = await talk.messages()
    assert.deepStrictEqual(
      messages.filter(({ author }) => author.kind === "user").map(({ text }) => text),
      ["Look around"]
    )
  })

  it("continue in the name of the device's owner, who approved the plan on the device", async () => {
    const { edge, talk, turn, world } = await startRun({ mode: "read_only" })
    const id = await edge.ask(turn, plan)
    const approved = {
      _tag: "InputAnswered",
      inputId: id,
      answer: { approve: true },
      shown: {}
    } as const
    await edge.step(turn.runId, { ...approved, by: "local", endsRun: true }).pushed
    assert.deepInclude<object>((await edge.turn(1)).create, { mode: "ask", resume: turn.runId })
    const sent = (await talk.messages()).find(({ text }) => text.startsWith("The plan was approved."))
    assert.deepStrictEqual<unknown>(sent?.author, { kind: "user", userId: world.client.userId })
  })

  it("have the limits of their task or their project, if the Edge knows them", async () => {
    const { edge, talk, world } = await talking()
    const path = `/client/projects/${world.projectId}`
    const change = (runs: object) => world.client.ask<Project>("PATCH", path, { body: { runs } })
    assert.deepStrictEqual((await change({ backgroundMs: 60_000, inputTtlMs: 5_000 })).body.runs, {
      backgroundMs: 60_000,
      inputTtlMs: 5_000
    })
    assert.strictEqual((await change({ backgroundMs: 10 })).status, 422)
    await talk.send("Look around")
    const first = await edge.turn(0)
    assert.deepInclude<object>(first.create, { backgroundMs: 60_000, inputTtlMs: 5_000 })
    assert.deepInclude<object>(await runOf(world, first), { backgroundMs: 60_000, inputTtlMs: 5_000 })
    await edge.perform(first, "Done")
    assert.deepStrictEqual((await change({ inputTtlMs: null })).body.runs, { backgroundMs: 60_000 })
    await makeTask(world, { backgroundMs: 2_000 })
    const second = await edge.turn(1)
    assert.strictEqual(second.create.backgroundMs, 2_000)
    assert.isUndefined(second.create.inputTtlMs)
    await edge.perform(second, "Done")
    await edge.offerCommands([...Object.keys(edgeCommands), ATTACHMENTS_FEATURE])
    await makeTask(world, { backgroundMs: 2_000 })
    assert.isUndefined((await edge.turn(2)).create.backgroundMs)
  })
})
