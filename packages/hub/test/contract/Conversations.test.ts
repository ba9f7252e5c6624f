/** Messages to agents over a real Hub and a real link. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { UserId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { SearchResult } from "@corral/domain/search/SearchResult"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import type { Task } from "@corral/domain/task/Task"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { makeTask, stateOf, until, type World, worldOf } from "../link/World.ts"

const isSettled = ({ delivery }: Message) => delivery?.state !== "pending"

describe("Messages to agents", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A world whose Edge is connected and has sent its offer. */
  const talking = async (resume = true) => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world, resume)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge }
  }
  /** Ends the time of a message that waits, and that of its task if it has one. */
  const expire = ({ id }: Message) =>
    hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const past = new Date(Date.now() - 1)
        yield* sql`UPDATE messages SET expires_at = ${past} WHERE id = ${id}`
        yield* sql`UPDATE tasks SET expires_at = ${past} WHERE message_id = ${id}`
      })
    )
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
  const offline = async (world: World, { edge }: TalkingEdge) => {
    await edge.leave()
    await until("the device offline", async () => (await stateOf(world)) === "offline")
  }
  const member = async ({ client, projectId }: World, name: string, role: "member" | "viewer" = "member") => {
    const person = await hub.signedIn(name)
    await new Mirror(hub).member(client.userId, projectId, person.userId as UserId, role)
    return person
  }

  it("start a run, are delivered with its first event, and are answered by its final text", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world, { mode: "ask" })
    const sent = await talk.send("Say hello")
    assert.deepInclude<object>(sent, { to: talk.agentId, when: "next", mode: "ask" })
    assert.strictEqual(sent.delivery?.state, "pending")
    const turn = await edge.turn(0)
    assert.strictEqual(turn.create.input.text, "Say hello")
    const pending = await talk.messageWith(sent.id, ({ delivery }) => delivery?.taskId !== undefined)
    assert.strictEqual(pending.delivery?.state, "pending")
    await edge.begin(turn)
    const delivered = await talk.inState(sent, "delivered")
    assert.deepInclude<object>(delivered.delivery ?? {}, { runId: turn.runId, context: "new" })
    await edge.reply(turn, "Hello")
    await edge.complete(turn, "Hello")
    const answer = await talk.answer(turn.runId)
    assert.deepInclude<object>(answer, {
      text: "Hello",
      outcome: "completed",
      author: { kind: "agent", agentInstanceId: talk.agentId }
    })
    assert.isAbove(answer.version, delivered.version)
  })

  it("take turns in order, and resume the conversation of the run before", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    for (const text of ["one", "two", "three"]) await talk.send(text)
    for (const [i, text] of ["one", "two", "three"].entries()) {
      const turn = await edge.turn(i)
      assert.lengthOf(edge.turns, i + 1)
      assert.strictEqual(turn.create.input.text, text)
      assert.strictEqual(turn.create.resume, i === 0 ? undefined : edge.turns[i - 1]?.runId)
      await edge.perform(turn, `${text} done`)
    }
    await talk.answer((await edge.turn(2)).runId)
    assert.deepStrictEqual(
      (await talk.messages()).map(({ delivery, text }) => [text, delivery?.context ?? "answer"]),
      [
        ["one", "new"],
        ["two", "resumed"],
        ["three", "resumed"],
        ["one done", "answer"],
        ["two done", "answer"],
        ["three done", "answer"]
      ]
    )
  })

  it("begin with the transcript where the runtime can't resume, or fails to before its first output", async () => {
    const forgetful = await talking(false)
    const talk = await Talk.open(forgetful.world)
    await talk.send("My name is Ada")
    await talk.send("Not for the agent", { to: "people" })
    await forgetful.edge.perform(await forgetful.edge.turn(0), "Hello Ada")
    const second = await talk.send("What is my name?")
    const { create } = await forgetful.edge.turn(1)
    assert.isUndefined(create.resume)
    assert.include(create.input.text, "| My name is Ada")
    assert.include(create.input.text, "| Hello Ada")
    assert.notInclude(create.input.text, "Not for the agent")
    assert.isTrue(create.input.text.endsWith("\nWhat is my name?"))
    await forgetful.edge.begin(await forgetful.edge.turn(1))
    assert.strictEqual((await talk.inState(second, "delivered")).delivery?.context, "transcript")

    const { edge, world } = await talking()
    const other = await Talk.open(world)
    await other.send("first")
    await edge.perform(await edge.turn(0), "done")
    const lost = await other.send("second")
    const resumed = await edge.turn(1)
    assert.isDefined(resumed.create.resume)
    await edge.create(resumed)
    await edge.refuseConnection(resumed)
    await edge.fail(resumed)
    const again = await edge.turn(2)
    assert.isUndefined(again.create.resume)
    assert.include(again.create.input.text, "| first")
    await edge.perform(again, "second done")
    const answered = await other.answer(again.runId)
    assert.strictEqual(answered.text, "second done")
    const delivered = await other.inState(lost, "delivered")
    assert.deepInclude<object>(delivered.delivery ?? {}, { context: "transcript", runId: again.runId })
    // The failed attempt is no answer.
    assert.isFalse((await other.messages()).some(({ runId }) => runId === resumed.runId))
    // Lists and search leave it out.
    const runs = async (query: string) =>
      (
        await world.client.ask<{ readonly items: ReadonlyArray<HubRun> }>(
          "GET",
          `/client/runs?sessionId=${other.sessionId}${query}`
        )
      ).body.items
    assert.notInclude(
      (await runs("")).map(({ id }) => id),
      resumed.runId
    )
    assert.lengthOf(await runs(""), 2)
    const replaced = (await runs("&replaced=true")).find(({ id }) => id === resumed.runId)
    const expected = { replaced: true, replacedBy: again.runId, state: "failed" }
    assert.deepInclude<object>(replaced ?? {}, expected)
    assert.deepInclude<object>(
      (await world.client.ask<HubRun>("GET", `/client/runs/${resumed.runId}`)).body,
      expected
    )
    let found: ReadonlyArray<SearchResult> = []
    await until("the texts in the search", async () => {
      const { body } = await world.client.ask<{ readonly items: ReadonlyArray<SearchResult> }>(
        "GET",
        "/client/search?q=second"
      )
      found = body.items
      return found.some(({ kind }) => kind === "result")
    })
    assert.deepStrictEqual(
      found.filter(({ kind }) => kind === "prompt").map(({ runId }) => runId),
      [again.runId]
    )
    assert.isTrue(found.every(({ runId }) => runId !== resumed.runId))
  })

  it.each([
    ["its Edge ended", { message: "The Edge ended.", details: { reason: "edge_restarted" } }],
    ["it took too long", { code: "run_timeout", message: "The run exceeded its timeout." }]
  ] as const)(
    "stay delivered to a resumed run without output because %s: it may have acted",
    async (_, error) => {
      const { edge, world } = await talking()
      const talk = await Talk.open(world)
      await talk.send("first")
      await edge.perform(await edge.turn(0), "done")
      const sent = await talk.send("second")
      const turn = await edge.turn(1)
      assert.isDefined(turn.create.resume)
      await edge.create(turn)
      await edge.fail(turn, error)
      assert.strictEqual((await talk.answer(turn.runId)).text, error.message)
      assert.strictEqual((await talk.inState(sent, "delivered")).delivery?.runId, turn.runId)
    }
  )

  it("become the error message of a run that fails after its first output, and stay delivered", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    const sent = await talk.send("Work")
    const turn = await edge.turn(0)
    await edge.begin(turn)
    await edge.reply(turn, "I try")
    await edge.fail(turn)
    const answer = await talk.answer(turn.runId)
    assert.deepInclude<object>(answer, { outcome: "failed", text: "The conversation is unknown." })
    assert.strictEqual(answer.error?.code, "runtime_unavailable")
    assert.strictEqual((await talk.inState(sent, "delivered")).delivery?.runId, turn.runId)
  })

  it("can be edited by one of two users at a time, and not once they are delivered", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    const bob = await member(world, "bob")
    await talk.send("first")
    const turn = await edge.turn(0)
    const waiting = await talk.send("secnd")
    const [one, two] = await Promise.all([
      talk.edit(waiting, { text: "second" }),
      talk.edit(waiting, { text: "another" }, bob)
    ])
    assert.deepStrictEqual([one.status, two.status].toSorted(), [200, 409])
    const edited = one.status === 200 ? one.body : two.body
    assert.isDefined(edited.editedAt)
    assert.isAbove(edited.version, waiting.version)
    await edge.perform(turn, "done")
    const next = await edge.turn(1)
    assert.strictEqual(next.create.input.text, edited.text)
    const late = await talk.edit(await talk.messageWith(waiting.id, () => true), { text: "late" })
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "conflict"])
    assert.strictEqual((await talk.withdraw(waiting)).status, 409)
  })

  it("can be withdrawn while they wait, and sent again after a failure", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    await talk.send("first")
    const turn = await edge.turn(0)
    const withdrawn = await talk.send("gone")
    const delivered = await talk.send("kept")
    assert.strictEqual((await talk.withdraw(withdrawn)).body.delivery?.state, "withdrawn")
    assert.strictEqual((await talk.withdraw(withdrawn)).status, 200)
    const late = await talk.send("late", { expiresAt: inAnHour() })
    await expire(late)
    await until("the end of a message that expires before its turn", async () => {
      // Each change looks for what is due.
      await talk.withdraw(await talk.send("gone, too"))
      const { delivery } = await talk.messageWith(late.id, () => true)
      return delivery?.state === "failed" && delivery.error?.code === "target_offline"
    })
    await edge.perform(turn, "done")
    assert.strictEqual((await edge.turn(1)).create.input.text, "kept")
    assert.strictEqual((await talk.retry(delivered)).status, 409)
    await edge.perform(await edge.turn(1), "done")

    await offline(world, edge)
    const refused = await talk.trySend("now or never", { onOffline: "fail" })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [503, "target_offline"])
    const limited = await talk.send("waits", { expiresAt: inAnHour() })
    await talk.messageWith(limited.id, ({ delivery }) => delivery?.taskId !== undefined)
    await expire(limited)
    const expired = await talk.inState(limited, "failed")
    assert.strictEqual(expired.delivery?.error?.code, "target_offline")
    const again = await talk.retry(limited)
    assert.deepStrictEqual(
      [again.status, again.body.id, again.body.delivery?.state],
      [200, limited.id, "pending"]
    )
    const back = await TalkingEdge.link(hub.url, { ...world, instanceId: edge.edge.instanceId })
    assert.strictEqual((await back.turn(0)).create.input.text, "waits")
  })

  it("wait for an offline target, can be edited there, and are withdrawn with the session", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    await offline(world, edge)
    const first = await talk.send("frist")
    const queued = await talk.messageWith(first.id, ({ delivery }) => delivery?.taskId !== undefined)
    const edited = await talk.edit(queued, { text: "first" })
    assert.strictEqual(edited.status, 200, edited.text)
    const other = await talk.send("second")
    const back = await TalkingEdge.link(hub.url, { ...world, instanceId: edge.edge.instanceId })
    const turn = await back.turn(0)
    assert.strictEqual(turn.create.input.text, "first")
    const archived = await talk.client.ask<Session>("PATCH", `/client/sessions/${talk.sessionId}`, {
      body: { state: "archived" }
    })
    assert.strictEqual(archived.status, 200)
    await talk.inState(other, "withdrawn")
    await back.perform(turn, "done")
    assert.strictEqual((await talk.answer(turn.runId)).text, "done")
    assert.lengthOf(back.turns, 1)
  })

  it("fail once their target is revoked, also while its last run has not ended", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    const first = await talk.send("first")
    await edge.begin(await edge.turn(0))
    await talk.inState(first, "delivered")
    const [waiting, input] = [await talk.send("second"), await talk.send("now", { when: "now" })]
    await edge.input(0)
    const revoked = await talk.client.ask("PATCH", `/client/devices/${world.deviceId}`, {
      body: { state: "revoked" }
    })
    assert.strictEqual(revoked.status, 200, revoked.text)
    const failed = await talk.inState(waiting, "failed")
    assert.strictEqual(failed.delivery?.error?.code, "unauthorized_target")
    assert.include(["delivered", "failed"], (await talk.messageWith(input.id, isSettled)).delivery?.state)
  })

  it("reach a run in progress as further input, and become the next turn where it has ended", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    const early = await talk.send("no run yet", { when: "now" })
    assert.strictEqual(early.when, "next")
    const turn = await edge.turn(0)
    await edge.begin(turn)
    await talk.inState(early, "delivered")
    const now = await talk.send("and this", { when: "now" })
    const input = await edge.input(0)
    assert.deepInclude<object>(input, { runId: turn.runId, messageId: now.id, input: { text: "and this" } })
    assert.strictEqual((await talk.inState(now, "delivered")).delivery?.runId, turn.runId)
    const other = await talk.trySend("as another", { when: "now", mode: "plan" })
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "conflict"])

    edge.refusesInput = true
    const missed = await talk.send("too late", { when: "now" })
    await edge.input(1)
    await edge.reply(turn, "done")
    await edge.complete(turn, "done")
    const next = await edge.turn(1)
    assert.strictEqual(next.create.input.text, "too late")
    await edge.begin(next)
    assert.deepInclude<object>(await talk.inState(missed, "delivered"), { when: "next" })
  })

  it("that the log contains are delivered once, although their command was refused", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    await talk.send("Work")
    const turn = await edge.turn(0)
    await edge.begin(turn)
    edge.refusesInput = true
    const now = await talk.send("and this", { when: "now" })
    await edge.input(0)
    const logged = { messageId: now.id, role: "user", channel: "text", text: "and this" } as const
    await edge.push(turn.runId, draft("run.message.completed", logged))
    assert.strictEqual((await talk.inState(now, "delivered")).when, "now")
    await edge.complete(turn, "done")
    await talk.answer(turn.runId)
    const last = await talk.send("next")
    assert.strictEqual((await edge.turn(1)).create.input.text, "next")
    assert.isDefined(last.delivery)
  })

  it("take turns with other sessions in the same workspace, unless they have their own checkout", async () => {
    const { edge, world } = await talking()
    const [one, two, apart] = [
      await Talk.open(world),
      await Talk.open(world),
      await Talk.open(world, { isolation: "worktree" })
    ]
    await one.send("one")
    const first = await edge.turn(0)
    const waiting = await two.send("two")
    await apart.send("apart")
    assert.strictEqual((await edge.turn(1)).create.input.text, "apart")
    assert.isUndefined((await two.messageWith(waiting.id, () => true)).delivery?.taskId)
    await edge.perform(first, "done")
    assert.strictEqual((await edge.turn(2)).create.input.text, "two")
  })

  it("go to the agent that is named, or to the one that was added last", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world, { isolation: "worktree" })
    const second = await talk.addAgent({ isolation: "worktree", label: "Second" })
    const session = await talk.client.ask<Session>("GET", `/client/sessions/${talk.sessionId}`)
    assert.strictEqual(session.body.defaultAgentInstanceId, second.id)
    assert.strictEqual((await talk.send("to the default")).to, second.id)
    await edge.perform(await edge.turn(0), "second done")
    await talk.send("to the first", { to: talk.agentId })
    const turn = await edge.turn(1)
    await edge.perform(turn, "first done")
    assert.deepStrictEqual((await talk.answer(turn.runId)).author, {
      kind: "agent",
      agentInstanceId: talk.agentId
    })
    const missing = await talk.trySend("x", { to: "agt_01K0000000000000000000000Z" as typeof talk.agentId })
    assert.strictEqual(codeOf(missing), "schema_validation_failed")
    assert.strictEqual((await talk.send("for people", { to: "people" })).delivery, undefined)
    await talk.client.ask("DELETE", `/client/sessions/${talk.sessionId}/agents?agentInstanceId=${second.id}`)
    assert.strictEqual((await talk.send("again")).to, talk.agentId)
  })

  it("need the rights of a run when they are sent, and again when they are delivered", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    const vera = await member(world, "vera", "viewer")
    const refused = await talk.trySend("x", {}, vera)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    const max = await member(world, "max")
    await talk.send("first")
    const turn = await edge.turn(0)
    const theirs = await talk.send("from max", {}, max)
    const edited = await talk.send("from ada")
    assert.strictEqual((await talk.edit(edited, { text: "from ada and max" }, max)).status, 200)
    await new Mirror(hub).noMember(world.client.userId, world.projectId, max.userId)
    await edge.perform(turn, "done")
    const failed = await talk.inState(theirs, "failed")
    assert.strictEqual(failed.delivery?.error?.code, "permission_denied")
    await talk.messageWith(edited.id, ({ delivery }) => delivery?.held === true)
    assert.strictEqual((await talk.proceed()).status, 200)
    await talk.inState(edited, "failed")
    assert.lengthOf(edge.turns, 1)
  })

  it("make their authors requesters of the run, also of a transcript", async () => {
    const { edge, world } = await talking(false)
    const talk = await Talk.open(world)
    const ben = await member(world, "ben")
    await talk.send("from ben", {}, ben)
    await edge.perform(await edge.turn(0), "done")
    await talk.send("from ada")
    const turn = await edge.turn(1)
    await edge.begin(turn)
    const rows = await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          sql`SELECT DISTINCT user_id FROM run_requesters WHERE run_id = ${turn.runId} ORDER BY user_id`
      )
    )
    assert.deepStrictEqual(
      rows.map((row) => row["user_id"]),
      [ben.userId, world.client.userId].toSorted()
    )
  })

  it("of a task with a session belong to the matching agent, which is added", async () => {
    const { edge, world } = await talking()
    const created = await world.client.ask<Session>("POST", "/client/sessions", {
      body: { projectId: world.projectId }
    })
    assert.strictEqual(created.status, 201, created.text)
    const sessionId = created.body.id
    const task = await makeTask(world, { sessionId, input: { text: `${"Long ".repeat(30)}\nmore` } })
    assert.strictEqual(task.status, 201, task.text)
    const session = await world.client.ask<Session>("GET", `/client/sessions/${sessionId}`)
    const [agent] = session.body.agents
    assert.isDefined(agent)
    assert.isAtMost([...session.body.title].length, 60)
    assert.match(session.body.title, /^Long Long .*…$/)
    const turn = await edge.turn(0)
    await edge.perform(turn, "done")
    const { body } = await world.client.ask<{ readonly items: ReadonlyArray<Message> }>(
      "GET",
      `/client/sessions/${sessionId}/messages`
    )
    assert.deepStrictEqual(
      body.items.map(({ delivery, outcome, to }) => delivery?.state ?? outcome ?? to),
      ["completed", "delivered"]
    )
    const more = await world.client.ask<Message>("POST", `/client/sessions/${sessionId}/messages`, {
      body: { text: "And then?" }
    })
    assert.strictEqual(more.body.to, agent.id)
    assert.strictEqual((await edge.turn(1)).create.resume, turn.runId)
    const again = await makeTask(world, { sessionId })
    const { body: stored } = await world.client.ask<Task>("GET", `/client/tasks/${again.body.id}`)
    assert.strictEqual(stored.sessionId, sessionId)
    const after = await world.client.ask<Session>("GET", `/client/sessions/${sessionId}`)
    assert.lengthOf(after.body.agents, 1)
  })

  it("are listed by the version after which they changed", async () => {
    const { edge, world } = await talking()
    const talk = await Talk.open(world)
    const changes = async (after: number, client: HubClient = talk.client) =>
      (
        await client.ask<{ readonly items: ReadonlyArray<Message> }>(
          "GET",
          `/client/sessions/${talk.sessionId}/messages?changedAfter=${after}`
        )
      ).body.items
    const note = await talk.send("note", { to: "people" })
    const sent = await talk.send("work")
    await edge.perform(await edge.turn(0), "done")
    await talk.answer((await edge.turn(0)).runId)
    const since = await changes(note.version)
    assert.deepStrictEqual(
      since.map(({ text }) => text),
      ["work", "done"]
    )
    assert.isAbove(since[0]?.version ?? 0, sent.version)
    assert.deepStrictEqual(await changes(since[1]?.version ?? 0), [])
  })
})
