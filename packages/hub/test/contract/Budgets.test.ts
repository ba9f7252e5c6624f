/** Budgets and timeouts of tasks, messages and agents, over a real Hub and a real link: what an Edge receives, and what is refused. */
import type { ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Budget, RunLimits } from "@corral/domain/run/Budget"
import type { Message } from "@corral/domain/session/Message"
import type { Answer } from "@corral/testing/http/Contract"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { effort } from "@corral/testing/time/Effort"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { makeTask, stateOf, until, untilTask, worldOf } from "../link/World.ts"

const names = ["tokens", "turns", "wallMs", "costUsd"] as const
const duration = fc.integer({ min: 1_000, max: 86_400_000 })
const limits: fc.Arbitrary<Limits> = fc.record(
  {
    budget: fc.record(
      {
        tokens: fc.integer({ min: 1 }),
        turns: fc.integer({ min: 1 }),
        wallMs: duration,
        costUsd: fc.integer({ min: 1, max: 10_000 }).map((cents) => cents / 100)
      },
      { requiredKeys: [] }
    ),
    timeoutMs: duration
  },
  { requiredKeys: [] }
)
interface Limits {
  readonly budget?: Budget
  readonly timeoutMs?: number
}

/** What a run must have, one limit after the other. */
const expected = (turn: RunLimits, agent: RunLimits) => ({
  limits: names.map((name) => turn.budget?.[name] ?? agent.budget?.[name]),
  timeoutMs: turn.timeoutMs ?? agent.timeoutMs
})
const actual = ({ budget, timeoutMs }: RunLimits) => ({
  limits: names.map((name) => budget?.[name]),
  timeoutMs
})
const fields = ({ body }: Answer) =>
  ((body as Partial<ErrorObjectOf<"schema_validation_failed">>).details?.issues ?? []).map(({ path }) => path)

describe("Budgets", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const scene = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge }
  }
  type Scene = Awaited<ReturnType<typeof scene>>
  /** Plays all turns that wait until that one, and returns it. */
  const turnOf = async ({ edge }: Scene, index: number) => {
    const turn = await edge.turn(index)
    await edge.perform(turn, "Done")
    return turn
  }
  const leave = async ({ edge, world }: Scene) => {
    await edge.edge.leave()
    await until("the device offline", async () => (await stateOf(world)) === "offline")
  }
  const updateAgent = ({ world: { client } }: Scene, { agentId, sessionId }: Talk, body: object) =>
    client.ask<AgentInstance>("PATCH", `/client/sessions/${sessionId}/agents/${agentId}`, { body })

  it("of a turn are the message's, otherwise the agent's, limit by limit", async () => {
    const here = await scene()
    let turns = 0
    await fc.assert(
      fc.asyncProperty(limits, limits, limits, async (agent, message, task) => {
        const talk = await Talk.open(here.world, agent)
        const sent = await talk.send("Look around", message)
        const wanted = expected(message, agent)
        assert.deepStrictEqual(actual(sent), wanted)
        assert.deepStrictEqual(actual((await turnOf(here, turns++)).create), wanted)
        await talk.inState(sent, "delivered")
        const created = await makeTask(here.world, { sessionId: talk.sessionId, ...task })
        assert.strictEqual(created.status, 201, created.text)
        assert.deepStrictEqual(actual(created.body), expected(task, agent))
        assert.deepStrictEqual(actual((await turnOf(here, turns++)).create), expected(task, agent))
        await untilTask(here.world, created.body.id, "completed")
      }),
      { numRuns: 12 * effort }
    )
  })

  it("of a task without a session are its own", async () => {
    const here = await scene()
    const more = { budget: { turns: 3, wallMs: 60_000 }, timeoutMs: 30_000 }
    const created = await makeTask(here.world, more)
    assert.deepInclude<object>(created.body, more)
    assert.deepInclude<object>((await turnOf(here, 0)).create, more)
  })

  it("of a queued message stay over a restart of the Hub and a change of the agent, which later messages have", async () => {
    const here = await scene()
    const talk = await Talk.open(here.world, { budget: { tokens: 1_000 } })
    await leave(here)
    const sent = await talk.send("Look around", { budget: { turns: 4 }, timeoutMs: 20_000 })
    const changed = await updateAgent(here, talk, { budget: { turns: 9 }, timeoutMs: 90_000 })
    assert.deepStrictEqual(
      [changed.body.budget, changed.body.timeoutMs],
      [{ turns: 9 }, 90_000],
      changed.text
    )
    const later = await talk.send("And then")
    await hub.end()
    await hub.start()
    const edge = await TalkingEdge.link(hub.url, here.world)
    const first = await edge.turn(0)
    assert.deepInclude<object>(first.create, { budget: { tokens: 1_000, turns: 4 }, timeoutMs: 20_000 })
    await edge.perform(first, "Done")
    assert.deepInclude<object>((await edge.turn(1)).create, { budget: { turns: 9 }, timeoutMs: 90_000 })
    assert.deepStrictEqual(actual(later), actual({ budget: { turns: 9 }, timeoutMs: 90_000 }))
    assert.deepStrictEqual(sent.budget, { tokens: 1_000, turns: 4 })
  })

  it("of a pending message change with it, and become the agent's where they are removed", async () => {
    const here = await scene()
    const talk = await Talk.open(here.world, { budget: { tokens: 1_000 }, timeoutMs: 50_000 })
    await talk.send("Look around")
    await here.edge.begin(await here.edge.turn(0))
    const sent = await talk.send("And then", { budget: { turns: 4 }, timeoutMs: 20_000 })
    const edit = async (version: number, change: object) => {
      const edited = await talk.edit({ id: sent.id, version }, change)
      assert.strictEqual(edited.status, 200, edited.text)
      return edited.body
    }
    const texted = await edit(sent.version, { text: "Look closely" })
    assert.deepStrictEqual(actual(texted), actual(sent))
    const raised = await edit(texted.version, { budget: { tokens: 5_000 } })
    assert.deepStrictEqual(actual(raised), actual({ budget: { tokens: 5_000 }, timeoutMs: 20_000 }))
    const removed = await edit(raised.version, { budget: null, timeoutMs: null })
    assert.deepStrictEqual(actual(removed), actual({ budget: { tokens: 1_000 }, timeoutMs: 50_000 }))
    // A later change of the agent changes only what is removed from now on.
    await updateAgent(here, talk, { budget: { tokens: 9, turns: 9 }, timeoutMs: 90_000 })
    const timed = await edit(removed.version, { timeoutMs: 60_000 })
    assert.deepStrictEqual(actual(timed), actual({ budget: { tokens: 1_000 }, timeoutMs: 60_000 }))
    const budgeted = await edit(timed.version, { budget: { tokens: 5 } })
    assert.deepStrictEqual(actual(budgeted), actual({ budget: { tokens: 5, turns: 9 }, timeoutMs: 60_000 }))
  })

  it("of an idle run hold for a message with the same limits, and another message waits for its end", async () => {
    const here = await scene()
    const { edge } = here
    const talk = await Talk.open(here.world, { budget: { turns: 8 } })
    await talk.send("Look around")
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const now = await talk.trySend("Faster", { when: "now", budget: { turns: 2 } })
    assert.deepStrictEqual([now.status, codeOf(now)], [409, "conflict"])
    await edge.work(turn, "one", "running")
    await edge.endTurn(turn, "It runs in the background.")
    const same = await talk.send("And now this")
    assert.strictEqual((await edge.input(0)).messageId, same.id)
    await talk.inState(same, "delivered")
    await edge.endTurn(turn, "That too.")
    const other = await talk.send("And much more", { budget: { turns: 80 } })
    await talk.messageWith(other.id, ({ delivery }) => delivery?.waitsFor === "background")
    await edge.work(turn, "one", "completed")
    assert.deepStrictEqual((await edge.turn(1)).create.budget, { turns: 80 })
  })

  it("of a plan hold for the run that carries it out", async () => {
    const here = await scene()
    const { edge, world } = here
    const more = { budget: { turns: 5, wallMs: 60_000 }, timeoutMs: 30_000, model: "small" }
    const talk = await Talk.open(world)
    await talk.send("Plan it", { mode: "read_only", ...more })
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const plan: RequestedInput = { kind: "plan", title: "A plan", plan: "First this, then that." }
    const id = await edge.ask(turn, plan)
    const body = { approve: true, mode: "auto_edit" }
    assert.strictEqual((await world.client.ask("POST", `/client/inputs/${id}/answer`, { body })).status, 200)
    assert.deepInclude<object>((await edge.turn(1)).create, { mode: "auto_edit", ...more })
  })

  it("end a resumed run for good: its message does not begin again without the conversation", async () => {
    const here = await scene()
    const { edge } = here
    const talk = await Talk.open(here.world)
    await talk.send("Look around")
    await turnOf(here, 0)
    const second = await talk.send("And then", { budget: { tokens: 5 } })
    const turn = await edge.turn(1)
    assert.strictEqual(turn.create.resume, edge.turns[0]?.runId)
    await edge.begin(turn)
    const failure = { code: "budget_exceeded", message: "The run's token budget is used up." }
    await edge.fail(turn, failure)
    assert.deepInclude<object>((await talk.answer(turn.runId)).error ?? {}, failure)
    assert.strictEqual((await talk.inState(second, "delivered")).delivery?.runId, turn.runId)
    const third = await talk.send("Go on")
    assert.strictEqual((await edge.turn(2)).create.input.text, third.text)
  })

  it("are refused at their field where the agent does not count them", async () => {
    const here = await scene()
    const { edge, world } = here
    const talk = await Talk.open(world)
    await edge.offerCounts(["tokens"])
    const body = { agentId: "scripted", targetId: world.deviceId, workspace: "demo" }
    const path = `/client/sessions/${talk.sessionId}`
    const attempts: ReadonlyArray<(budget: Budget) => Promise<Answer>> = [
      (budget) => makeTask(world, { budget }),
      (budget) => makeTask(world, { budget, onOffline: "queue" }),
      (budget) => talk.trySend("Look", { budget }),
      (budget) => world.client.ask("POST", `${path}/agents`, { body: { ...body, budget } }),
      (budget) => updateAgent(here, talk, { budget })
    ]
    for (const attempt of attempts) {
      const uncounted = await attempt({ turns: 3, tokens: 100 })
      assert.deepStrictEqual([uncounted.status, fields(uncounted)], [422, ["budget.turns"]], uncounted.text)
      const wrong = await attempt({ tokens: 0 })
      assert.deepStrictEqual([wrong.status, fields(wrong)], [422, ["budget.tokens"]])
      const cost = await attempt({ costUsd: 1 })
      assert.deepStrictEqual([cost.status, fields(cost)], [422, ["budget.costUsd"]])
      const mistyped = await attempt({ token: 1 } as Budget)
      assert.deepStrictEqual([mistyped.status, fields(mistyped)], [422, ["budget.*"]])
    }
    const refused = await Promise.all([makeTask(world), talk.messages()])
    assert.strictEqual(refused[0].status, 201)
    assert.deepStrictEqual(refused[1], [])
  })

  it("of tokens and turns are refused for an Edge that does not say what it counts, also after it was exchanged", async () => {
    const here = await scene()
    const { world } = here
    const talk = await Talk.open(world)
    await leave(here)
    const waiting = await makeTask(world, { budget: { turns: 3 }, onOffline: "queue" })
    const sent = await talk.send("Look around", { budget: { tokens: 3 } })
    assert.strictEqual(waiting.status, 201, waiting.text)
    const old = await TalkingEdge.link(hub.url, world, true, null)
    const failed = await untilTask(world, waiting.body.id, "failed")
    assert.deepInclude<object>(failed.error ?? {}, { code: "conflict" })
    assert.strictEqual((await talk.inState(sent, "failed")).delivery?.error?.code, "conflict")
    assert.deepStrictEqual(old.turns, [])
    const refused = await makeTask(world, { budget: { turns: 3 } })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "conflict"])
    assert.deepInclude<object>(refused.body, { details: { reason: "edge_outdated" } })
    const timed = await makeTask(world, { budget: { wallMs: 60_000 }, timeoutMs: 60_000 })
    assert.strictEqual(timed.status, 201, timed.text)
    assert.deepStrictEqual((await old.turn(0)).create.budget, { wallMs: 60_000 })
  })

  it("are copied with the agents and messages of a forked session", async () => {
    const here = await scene()
    const talk = await Talk.open(here.world, { budget: { tokens: 1_000 }, timeoutMs: 50_000 })
    const sent = await talk.send("Look around", { budget: { turns: 4 } })
    await turnOf(here, 0)
    await talk.inState(sent, "delivered")
    const { client } = here.world
    const fork = await client.ask<{ readonly id: string; readonly agents: ReadonlyArray<AgentInstance> }>(
      "POST",
      `/client/sessions/${talk.sessionId}/fork`,
      { body: { messageId: sent.id } }
    )
    assert.deepInclude<object>(fork.body.agents[0] ?? {}, { budget: { tokens: 1_000 }, timeoutMs: 50_000 })
    const messages = await client.ask<{ readonly items: ReadonlyArray<Message> }>(
      "GET",
      `/client/sessions/${fork.body.id}/messages`
    )
    assert.deepStrictEqual(messages.body.items[0]?.budget, { tokens: 1_000, turns: 4 })
  })
})
