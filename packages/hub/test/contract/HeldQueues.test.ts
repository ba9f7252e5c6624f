/** Queues of agents after Stop and after errors, over a real Hub and a real link. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { UserId } from "@corral/domain/identity/Ids"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import { draft } from "@corral/domain/run/RunEvent"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { notify } from "../../src/store/Notices.ts"
import { type StartedTurn, TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { type World, worldOf } from "../link/World.ts"

const cancelledBy = ({ client: { userId } }: World) =>
  draft("run.cancelled", userId === undefined ? {} : { by: userId })

describe("The queue of an agent", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A run in progress, and two messages that wait for its end. */
  const queued = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    const talk = await Talk.open(world)
    await talk.send("first")
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const waiting = [await talk.send("second"), await talk.send("third")] as const
    const agent = async (): Promise<AgentInstance> => {
      const { body } = await world.client.ask<Session>("GET", `/client/sessions/${talk.sessionId}`)
      const found = body.agents.find(({ id }) => id === talk.agentId)
      assert.isDefined(found)
      return found
    }
    const proceed = (client = world.client) => talk.proceed(client)
    return { world, edge, talk, turn, waiting, agent, proceed }
  }
  type Queued = Awaited<ReturnType<typeof queued>>
  const isHeld = ({ delivery }: Message) => delivery?.held === true
  const held = ({ talk }: Queued, { id }: Message) => talk.messageWith(id, isHeld)
  const texts = ({ edge }: Queued) => edge.turns.map(({ create }) => create.input.text)

  /** Ends of a turn after which the queue is held, with the reason. */
  const ends: Readonly<Record<string, readonly ["failed" | "stopped", (scene: Queued) => Promise<unknown>]>> =
    {
      "a user stops it": ["stopped", ({ edge, turn, world }) => edge.push(turn.runId, cancelledBy(world))],
      "the program cancels it": [
        "stopped",
        ({ edge, turn }) => edge.push(turn.runId, draft("run.cancelled", {}))
      ],
      "it fails": ["failed", ({ edge, turn }) => edge.fail(turn)],
      "it fails after output": [
        "failed",
        async ({ edge, turn }) => {
          await edge.reply(turn, "output")
          await edge.fail(turn, { code: "run_timeout", message: "It took too long." })
        }
      ],
      "it fails in a later turn": [
        "failed",
        async ({ edge, turn }) => {
          await edge.startTurn(turn)
          await edge.fail(turn)
        }
      ]
    }

  it.each(Object.entries(ends))("is held after the end of a turn: %s", async (_name, [reason, end]) => {
    const scene = await queued()
    const { agent, edge, proceed, talk, turn, waiting } = scene
    await end(scene)
    for (const each of waiting) await held(scene, each)
    const { held: hold } = await agent()
    assert.strictEqual(hold?.reason, reason)
    // A new message is delivered at once, and does not end the hold.
    await talk.send("new")
    await edge.perform(await edge.turn(1), "done")
    assert.deepStrictEqual(texts(scene), [turn.create.input.text, "new"])
    await talk.answer((await edge.turn(1)).runId)
    assert.strictEqual((await agent()).held?.reason, reason)
    const continued = await proceed()
    assert.strictEqual(continued.status, 200, continued.text)
    assert.isUndefined(continued.body.held)
    await edge.perform(await edge.turn(2), "done")
    await edge.perform(await edge.turn(3), "done")
    assert.deepStrictEqual(texts(scene).slice(2), ["second", "third"])
    // Nothing is held: no change.
    assert.strictEqual((await proceed()).status, 200)
  })

  it("says who stopped it, and is not held without messages in it", async () => {
    const scene = await queued()
    const { agent, edge, talk, turn, waiting, world } = scene
    for (const each of waiting) await talk.withdraw(each)
    await edge.push(turn.runId, cancelledBy(world))
    await talk.answer(turn.runId)
    assert.isUndefined((await agent()).held)
    await talk.send("next")
    const next = await edge.turn(1)
    await edge.begin(next)
    const last = await talk.send("last")
    await edge.push(next.runId, cancelledBy(world))
    await held(scene, last)
    assert.deepInclude<object | undefined>((await agent()).held, {
      reason: "stopped",
      by: world.client.userId
    })
    await talk.withdraw(last)
    assert.isUndefined((await agent()).held)
  })

  it("is held with input that the stopped run did not take", async () => {
    const scene = await queued()
    const { edge, proceed, talk, turn, waiting } = scene
    edge.refusesInput = true
    const input = await talk.send("now", { when: "now" })
    await edge.input(0)
    await edge.push(turn.runId, draft("run.cancelled", {}))
    for (const each of [...waiting, input]) await held(scene, each)
    assert.strictEqual((await proceed()).status, 200)
    for (const index of [1, 2, 3]) await edge.perform(await edge.turn(index), "done")
    assert.deepStrictEqual(texts(scene).slice(1), ["second", "third", "now"])
  })

  it("is held after a message that could not start, which can be sent again before the others", async () => {
    const scene = await queued()
    const { agent, edge, talk, turn, waiting } = scene
    const [second, third] = waiting
    edge.refusesStart = true
    await edge.complete(turn, "done")
    const failed = await talk.inState(second, "failed")
    await held(scene, third)
    assert.strictEqual((await agent()).held?.reason, "failed")
    assert.strictEqual((await talk.retry(failed)).status, 200)
    await edge.perform(await edge.turn(1), "done")
    assert.deepStrictEqual(texts(scene).slice(1), ["second"])
    assert.isTrue(isHeld(await talk.messageWith(third.id, () => true)))
  })

  it("is not held for a message that was sent after a start had failed, before the Hub noted the failure", async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    const talk = await Talk.open(world)
    await talk.send("first")
    const { runId } = await edge.turn(0)
    await talk.send("second")
    await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const error = JSON.stringify({ code: "internal", message: "It could not start." })
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`
              UPDATE tasks SET state = 'failed', run_id = NULL, error = ${error}, updated_at = now() - interval '1 hour'
              WHERE run_id = ${runId}`
            yield* sql`DELETE FROM runs WHERE id = ${runId}`
            yield* notify(sql, "runState", runId)
          })
        )
      })
    )
    assert.strictEqual((await edge.turn(1)).create.input.text, "second")
  })

  it("is not held after a turn that completed, was finished, or is replaced by one with a transcript", async () => {
    const scene = await queued()
    const { edge, talk, turn } = scene
    await edge.complete(turn, "done")
    // Can't resume: the same message starts another run.
    const resumed: StartedTurn = await edge.turn(1)
    await edge.create(resumed)
    await edge.fail(resumed)
    const again = await edge.turn(2)
    assert.include(again.create.input.text, "second")
    await edge.perform(again, "done")
    await edge.perform(await edge.turn(3), "done")
    assert.isTrue((await talk.messages()).every((message) => !isHeld(message)))
  })

  it("is withdrawn with its session, and with its agent", async () => {
    for (const close of [
      ({ talk, world }: Queued) =>
        world.client.ask("PATCH", `/client/sessions/${talk.sessionId}`, { body: { state: "archived" } }),
      ({ talk, world }: Queued) =>
        world.client.ask(
          "DELETE",
          `/client/sessions/${talk.sessionId}/agents?agentInstanceId=${talk.agentId}`
        )
    ]) {
      const scene = await queued()
      const { edge, proceed, talk, turn, waiting } = scene
      await edge.fail(turn)
      for (const each of waiting) await held(scene, each)
      assert.include([200, 204], (await close(scene)).status)
      for (const each of waiting) await talk.inState(each, "withdrawn")
      assert.include([403, 409], (await proceed()).status)
      assert.strictEqual(edge.turns.length, 1)
    }
  })

  it("is continued by members only, who become requesters", async () => {
    const scene = await queued()
    const { edge, proceed, turn, waiting, world } = scene
    const join = async (name: string, role: "member" | "viewer") => {
      const person = await hub.signedIn(name)
      await new Mirror(hub).member(world.client.userId, world.projectId, person.userId as UserId, role)
      return person
    }
    await edge.fail(turn)
    for (const each of waiting) await held(scene, each)
    const refused = await proceed(await join("viewer", "viewer"))
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    const stranger = await proceed(await hub.signedIn("stranger"))
    assert.deepStrictEqual([stranger.status, codeOf(stranger)], [403, "permission_denied"])
    assert.strictEqual((await proceed(await join("bob", "member"))).status, 200)
    await edge.perform(await edge.turn(1), "done")
  })
})
