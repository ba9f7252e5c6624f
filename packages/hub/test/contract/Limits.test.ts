/** Limits of projects for each day, over a real Hub and a real link: what runs reserve, what is refused, what is booked, and who is notified. */
import type { ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import type { Budget } from "@corral/domain/run/Budget"
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Project } from "@corral/domain/project/Project"
import type { LimitUse, ProjectLimits } from "@corral/domain/usage/Limit"
import type { UsageReport } from "@corral/domain/usage/UsageReport"
import type { Answer } from "@corral/testing/http/Contract"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { ChangeFollower } from "../harness/ChangeFollower.ts"
import { type StartedTurn, TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { makeTask, until, untilTask, worldOf } from "../link/World.ts"

const issuesOf = ({ body }: Answer) =>
  (body as Partial<ErrorObjectOf<"schema_validation_failed">>).details?.issues ?? []
const detailsOf = ({ body }: Answer) => (body as { readonly details?: Record<string, unknown> }).details

describe("Limits", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const scene = async (runBudget?: Budget) => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    const mirror = new Mirror(hub, world.deviceId)
    await mirror.link(world.projectId)
    const path = `/client/projects/${world.projectId}`
    const { client } = world
    const change = (body: object) => client.ask<Project>("PATCH", path, { body })
    const limit = (subject: string, body: object, by: HubClient = client) =>
      by.ask("PUT", `${path}/limits/${subject}`, { body })
    const limits = async (by: HubClient = client) => {
      const answer = await by.ask<ProjectLimits>("GET", `${path}/limits`)
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    }
    const usage = async (query: string, by: HubClient = client) => {
      const answer = await by.ask<UsageReport>("GET", `/client/usage?projectId=${world.projectId}&${query}`)
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    }
    if (runBudget !== undefined) assert.strictEqual((await change({ runBudget })).status, 200)
    return { world, edge, mirror, path, change, limit, limits, usage }
  }
  type Scene = Awaited<ReturnType<typeof scene>>

  const end = ({ edge }: Scene, { runId }: StartedTurn, usage: Usage) =>
    edge.push(runId, draft("run.completed", { text: "Done", usage }))
  /** A run that has started, and what its Edge received. */
  const started = async (here: Scene, index: number, more: Record<string, unknown> = {}) => {
    const task = await makeTask(here.world, more)
    assert.strictEqual(task.status, 201, task.text)
    const turn = await here.edge.turn(index)
    await here.edge.begin(turn)
    return turn
  }
  const everyone = async (here: Scene): Promise<Pick<LimitUse, "used" | "reserved" | "state">> => {
    const use = (await here.limits()).today.find(({ subject }) => subject === "everyone")
    assert.isDefined(use)
    const { reserved, state, used } = use
    return { reserved, state, used }
  }

  it("need a runBudget of the same kind, which stays while they need it", async () => {
    const here = await scene()
    const refused = await here.limit("everyone", { costUsd: 5, tokens: 100 })
    assert.strictEqual(codeOf(refused), "schema_validation_failed")
    assert.deepStrictEqual(
      issuesOf(refused).map(({ path }) => path),
      ["costUsd", "tokens"]
    )
    assert.match(issuesOf(refused)[0]?.message ?? "", /Set costUsd in the project's runBudget first/)
    assert.strictEqual((await here.change({ runBudget: { costUsd: 1, turns: 3 } })).status, 200)
    assert.strictEqual((await here.limit("everyone", { costUsd: 5 })).status, 200)
    for (const runBudget of [null, { turns: 3 }]) {
      const refusal = await here.change({ runBudget })
      assert.deepStrictEqual(
        [codeOf(refusal), issuesOf(refusal).map(({ path }) => path)],
        ["schema_validation_failed", ["runBudget.costUsd"]]
      )
    }
    assert.deepStrictEqual((await here.limits()).runBudget, { costUsd: 1, turns: 3 })
    assert.strictEqual((await here.world.client.ask("DELETE", `${here.path}/limits/everyone`)).status, 204)
    assert.strictEqual((await here.change({ runBudget: null })).status, 200)
  })

  it("refuse what is not a limit, a person who is not a member, and a time zone that does not exist", async () => {
    const here = await scene({ costUsd: 1 })
    for (const body of [{}, { costUsd: 0 }, { costUsd: -1 }, { tokens: 1.5 }, { costUsd: 1e9 }])
      assert.strictEqual(codeOf(await here.limit("everyone", body)), "schema_validation_failed")
    const stranger = await hub.signedIn("stranger")
    assert.strictEqual(codeOf(await here.limit(String(stranger.userId), { costUsd: 1 })), "conflict")
    assert.strictEqual((await here.limit("someone", { costUsd: 1 })).status, 422)
    assert.strictEqual(codeOf(await here.change({ timeZone: "Mars/Olympus" })), "schema_validation_failed")
    assert.strictEqual((await here.change({ timeZone: "Pacific/Chatham" })).body.timeZone, "Pacific/Chatham")
  })

  it("reserve the runBudget of a run without one, at most the rest, and are used up then", async () => {
    const here = await scene({ costUsd: 2, tokens: 1_000 })
    await here.limit("everyone", { costUsd: 5 })
    const runs = [await started(here, 0), await started(here, 1, { budget: { turns: 4 } })]
    // Only what is limited.
    assert.deepStrictEqual(
      runs.map(({ create }) => create.budget),
      [{ costUsd: 2 }, { turns: 4, costUsd: 2 }]
    )
    const third = await started(here, 2)
    assert.deepStrictEqual(third.create.budget, { costUsd: 1 })
    const shown = await here.world.client.ask<HubRun>("GET", `/client/runs/${third.runId}`)
    assert.deepStrictEqual(shown.body.budget, { costUsd: 1 })
    const refused = await makeTask(here.world)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [402, "budget_exceeded"])
    assert.deepInclude(detailsOf(refused) ?? {}, {
      reason: "limit_used_up",
      subject: "everyone",
      budget: "costUsd",
      limit: 5,
      used: 0,
      reserved: 5,
      left: 0
    })
    // The run that uses less returns the rest.
    await end(here, third, { costUsd: 0.25, inputTokens: 30 })
    assert.deepStrictEqual(await everyone(here), {
      used: { costUsd: 0.25, tokens: 30 },
      reserved: { costUsd: 4, tokens: 0 },
      state: "open"
    })
    assert.deepStrictEqual((await started(here, 3)).create.budget, { costUsd: 0.75 })
  })

  it("refuse a budget of the request that is more than the rest", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 3 })
    await started(here, 0, { budget: { costUsd: 2.5 } })
    const refused = await makeTask(here.world, { budget: { costUsd: 0.6 } })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [402, "budget_exceeded"])
    assert.deepInclude(detailsOf(refused) ?? {}, { reason: "limit_too_small", left: 0.5 })
    assert.deepStrictEqual((await started(here, 1, { budget: { costUsd: 0.5 } })).create.budget, {
      costUsd: 0.5
    })
  })

  it("book what a live run reports and what it uses beyond its reservation, and block the next start", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 3 })
    const turn = await started(here, 0)
    const report = (usage: Usage) => here.edge.push(turn.runId, draft("run.usage.updated", { usage }))
    await report({ costUsd: 0.4, inputTokens: 10, costSource: "estimated" })
    assert.deepStrictEqual(await everyone(here), {
      used: { costUsd: 0.4, tokens: 10 },
      reserved: { costUsd: 0.6, tokens: 0 },
      state: "open"
    })
    // Each report is the whole use so far: nothing is added twice.
    await report({ costUsd: 0.4, inputTokens: 10, costSource: "estimated" })
    await end(here, turn, { costUsd: 3.2, inputTokens: 90, outputTokens: 5, costSource: "estimated" })
    assert.deepStrictEqual(await everyone(here), {
      used: { costUsd: 3.2, tokens: 95 },
      reserved: { costUsd: 0, tokens: 0 },
      state: "reached"
    })
    assert.strictEqual(codeOf(await makeTask(here.world)), "budget_exceeded")
    const { rows, total } = await here.usage("by=agent")
    assert.lengthOf(rows, 1)
    assert.deepInclude<object>(total, {
      runs: 1,
      liveRuns: 0,
      costUsd: 3.2,
      estimatedUsd: 3.2,
      runsWithoutCost: 0
    })
  })

  it("keep what a run has cost before a call whose price is unknown", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 1 })
    const turn = await started(here, 0)
    const report = (usage: Usage) => here.edge.push(turn.runId, draft("run.usage.updated", { usage }))
    await report({ costUsd: 1, inputTokens: 10, costSource: "estimated" })
    await report({ inputTokens: 20 })
    const error: RunFailure = { code: "budget_exceeded", message: "The price of the model is not known." }
    await here.edge.push(turn.runId, draft("run.failed", { error, usage: { inputTokens: 20 } }))
    assert.deepStrictEqual(await everyone(here), {
      used: { costUsd: 1, tokens: 20 },
      reserved: { costUsd: 0, tokens: 0 },
      state: "reached"
    })
    assert.strictEqual(codeOf(await makeTask(here.world)), "budget_exceeded")
    const { total } = await here.usage("by=day")
    assert.deepInclude<object>(total, { costUsd: 1, runsWithoutCost: 1 })
  })

  it("return what runs have reserved on a device that was revoked", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 1 })
    const turn = await started(here, 0)
    await here.edge.push(turn.runId, draft("run.usage.updated", { usage: { costUsd: 0.25 } }))
    const revoked = await here.world.client.ask("PATCH", `/client/devices/${here.world.deviceId}`, {
      body: { state: "revoked" }
    })
    assert.strictEqual(revoked.status, 200, revoked.text)
    assert.deepStrictEqual(await everyone(here), {
      used: { costUsd: 0.25, tokens: 0 },
      reserved: { costUsd: 0, tokens: 0 },
      state: "open"
    })
  })

  it("survive figures that no run can have", async () => {
    const here = await scene({ tokens: 10 })
    await here.limit("everyone", { tokens: 10 })
    const turn = await started(here, 0)
    const largest = Number.MAX_SAFE_INTEGER
    await end(here, turn, { inputTokens: largest, outputTokens: largest, turns: -1, costUsd: 1e300 })
    const { state, used } = await everyone(here)
    assert.deepStrictEqual([state, used.tokens], ["reached", largest])
    const { total } = await here.usage("by=person")
    assert.deepInclude<object>(total, { runs: 1, turns: 0 })
  })

  it("of a person hold next to the project's: a separate one, otherwise that of each", async () => {
    const here = await scene({ tokens: 100 })
    const { client, projectId } = here.world
    const other = await hub.signedIn("grace")
    await here.mirror.member(client.userId, projectId, other.userId, "admin")
    await here.limit("each", { tokens: 150 })
    await here.limit(String(client.userId), { tokens: 250 })
    await here.limit("everyone", { tokens: 300 })
    const budgets: Array<Budget | undefined> = []
    for (const [index, by] of [client, client, other].entries())
      budgets.push((await started({ ...here, world: { ...here.world, client: by } }, index)).create.budget)
    assert.deepStrictEqual(budgets, [{ tokens: 100 }, { tokens: 100 }, { tokens: 100 }])
    assert.strictEqual(codeOf(await makeTask(here.world)), "budget_exceeded")
    await here.limit("everyone", { tokens: 1_000 })
    const rests = [
      await started(here, 3),
      await started({ ...here, world: { ...here.world, client: other } }, 4)
    ]
    assert.deepStrictEqual(
      rests.map(({ create }) => create.budget),
      [{ tokens: 50 }, { tokens: 50 }]
    )
    const refused = await makeTask({ ...here.world, client: other })
    assert.deepInclude(detailsOf(refused) ?? {}, { subject: other.userId, limit: 150 })
    const { today } = await here.limits(other)
    assert.deepStrictEqual(
      new Map(today.map(({ reserved, subject }) => [subject, reserved.tokens])),
      new Map([
        ["everyone", 400],
        [client.userId, 250],
        [other.userId, 150]
      ])
    )
  })

  it("release what a run has reserved that does not start", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 1 })
    here.edge.refusesStart = true
    const task = await makeTask(here.world)
    await untilTask(here.world, task.body.id, "failed")
    assert.deepStrictEqual((await everyone(here)).reserved, { costUsd: 0, tokens: 0 })
    assert.deepStrictEqual((await started(here, 0)).create.budget, { costUsd: 1 })
  })

  it("fail a message whose turn exceeds them, and hold the queue with the reason", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 1 })
    const talk = await Talk.open(here.world)
    const first = await talk.send("first")
    const turn = await here.edge.turn(0)
    assert.deepStrictEqual(turn.create.budget, { costUsd: 1 })
    await here.edge.begin(turn)
    const [second, third] = [await talk.send("second"), await talk.send("third")]
    await talk.inState(first, "delivered")
    await end(here, turn, { costUsd: 1 })
    const failed = await talk.inState(second, "failed")
    assert.deepInclude<object>(failed.delivery?.error ?? {}, { code: "budget_exceeded" })
    assert.strictEqual(failed.delivery?.error?.details?.["reason"], "limit_used_up")
    await talk.messageWith(third.id, ({ delivery }) => delivery?.held === true)
    const { body } = await here.world.client.ask<{
      readonly agents: ReadonlyArray<{ readonly held?: object }>
    }>("GET", `/client/sessions/${talk.sessionId}`)
    assert.deepInclude(body.agents[0]?.held ?? {}, { reason: "failed", code: "budget_exceeded" })
  })

  it("hold the queue after a run that its budget ended", async () => {
    const here = await scene()
    const talk = await Talk.open(here.world, { budget: { costUsd: 0.5 } })
    await talk.send("first")
    const turn = await here.edge.turn(0)
    await here.edge.begin(turn)
    const waiting = await talk.send("second")
    const error: RunFailure = { code: "budget_exceeded", message: "The run's cost budget is used up." }
    await here.edge.push(turn.runId, draft("run.failed", { error, usage: { costUsd: 0.51 } }))
    await talk.messageWith(waiting.id, ({ delivery }) => delivery?.held === true)
    const { body } = await here.world.client.ask<{
      readonly agents: ReadonlyArray<{ readonly held?: object }>
    }>("GET", `/client/sessions/${talk.sessionId}`)
    assert.deepInclude(body.agents[0]?.held ?? {}, { reason: "failed", code: "budget_exceeded" })
  })

  it("fail a queued task that exceeds them when its device comes online", async () => {
    const here = await scene({ costUsd: 1 })
    await here.limit("everyone", { costUsd: 1 })
    await here.edge.edge.leave()
    await until("the device offline", async () => {
      const { body } = await here.world.client.ask<{ readonly state: string }>(
        "GET",
        `/client/devices/${here.world.deviceId}`
      )
      return body.state === "offline"
    })
    const tasks = [
      await makeTask(here.world, { onOffline: "queue" }),
      await makeTask(here.world, { onOffline: "queue" })
    ]
    const edge = await TalkingEdge.link(hub.url, here.world)
    assert.deepStrictEqual((await edge.turn(0)).create.budget, { costUsd: 1 })
    const failed = await untilTask(here.world, String(tasks[1]?.body.id), "failed")
    assert.strictEqual(failed.error?.code, "budget_exceeded")
    assert.strictEqual(failed.error?.details?.["budget"], "costUsd")
  })

  it("refuse an agent that does not count what they limit", async () => {
    const here = await scene({ costUsd: 1, tokens: 10 })
    await here.limit("everyone", { costUsd: 5 })
    await here.edge.offerCounts(["tokens", "turns"])
    const refused = await makeTask(here.world)
    assert.deepStrictEqual([refused.status, issuesOf(refused)[0]?.path], [422, "budget.costUsd"])
    await here.limit("everyone", { tokens: 50 })
    assert.deepStrictEqual((await started(here, 0)).create.budget, { tokens: 10 })
  })

  it("notify once at 80 %, and once when they are used up, again after a change", async () => {
    const here = await scene({ costUsd: 4 })
    await here.limit("everyone", { costUsd: 10 })
    const follower = await ChangeFollower.open(here.world.client)
    const { projectId } = here.world
    const hint = (state: "near" | "reached", from = 0) =>
      follower.hint({ kind: "limit", projectId, state }, from)
    const uses = [4, 4, 3]
    for (const [index, costUsd] of uses.entries()) {
      await end(here, await started(here, index), { costUsd })
      if (index === 1) await hint("near")
    }
    const reached = await hint("reached")
    assert.lengthOf(
      follower.hints.filter(({ kind }) => kind === "limit"),
      2
    )
    await here.limit("everyone", { costUsd: 13 })
    await hint("near", reached + 1)
    // A new reader learns of those of the last day.
    const later = await ChangeFollower.open(here.world.client)
    await later.hint({ kind: "limit", projectId, state: "near" })
    await Promise.all([follower.close(), later.close()])
  })

  it("of a person notify the person and the admins, and no other member", async () => {
    const here = await scene({ tokens: 10 })
    const { client, projectId } = here.world
    const [person, bystander] = [await hub.signedIn("ada"), await hub.signedIn("alan")]
    await here.mirror.member(client.userId, projectId, person.userId, "member")
    await here.mirror.member(client.userId, projectId, bystander.userId, "member")
    await here.limit("each", { tokens: 10 })
    const [admin, personal, other] = await Promise.all(
      [client, person, bystander].map((by) => ChangeFollower.open(by))
    )
    assert(admin !== undefined && personal !== undefined && other !== undefined)
    const turn = await started({ ...here, world: { ...here.world, client: person } }, 0)
    await end(here, turn, { inputTokens: 10 })
    const wanted = { kind: "limit", projectId, state: "reached" } as const
    assert.isDefined(person.userId)
    for (const follower of [admin, personal]) await follower.hint({ ...wanted, userId: person.userId })
    await other.hint({ kind: "run", id: turn.runId, state: "completed" })
    assert.deepStrictEqual(
      other.hints.filter(({ kind }) => kind === "limit"),
      []
    )
    await Promise.all([admin, personal, other].map((follower) => follower.close()))
  })

  it("are set by admins and read by all who read the project, in the audit", async () => {
    const here = await scene({ costUsd: 1 })
    const { client, projectId } = here.world
    const member = await hub.signedIn("linus")
    await here.mirror.member(client.userId, projectId, member.userId, "member")
    assert.strictEqual(codeOf(await here.limit("everyone", { costUsd: 9 }, member)), "permission_denied")
    await here.limit(String(member.userId), { costUsd: 2 })
    const { limits, today } = await here.limits(member)
    assert.deepStrictEqual(
      limits.map(({ costUsd, name, subject }): ReadonlyArray<unknown> => [subject, name, costUsd]),
      [[member.userId, "linus", 2]]
    )
    assert.deepStrictEqual(
      today.map(({ subject }): unknown => subject),
      [member.userId]
    )
    const audit = await client.ask<{ readonly items: ReadonlyArray<Record<string, unknown>> }>(
      "GET",
      `/client/audit?projectId=${projectId}&limit=200`
    )
    assert.deepStrictEqual(
      audit.body.items
        .filter(({ action }) => action === "limit.set" || action === "policy.manage")
        .map(({ action, outcome, resource }) => [action, outcome, resource]),
      [
        ["limit.set", "allowed", member.userId],
        ["policy.manage", "denied", projectId]
      ]
    )
  })
})
