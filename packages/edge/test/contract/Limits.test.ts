/** What a run may use up, and how many runs may live at once. */
import type { ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import type { EdgeReadiness } from "@corral/domain/http/Health"
import type { Agent } from "@corral/domain/run/Agent"
import { CountedLimit } from "@corral/domain/run/Budget"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Answer } from "@corral/testing/http/Contract"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

/** Paths of the fields that a response names as invalid. */
const issuesOf = ({ body }: Answer): ReadonlyArray<string> => {
  const { details } = body as Partial<ErrorObjectOf<"schema_validation_failed">>
  return (details?.issues ?? []).map(({ path }) => path)
}

const grace = { CORRAL_EDGE_CANCEL_GRACE_MS: "300" }

describe("A budget", () => {
  const edge = new EdgeInProcess({ env: grace, grants: ["full_access"] })
  beforeAll(() => edge.start())
  afterAll(() => edge.remove())

  it("warns at 80 % and ends the run at 100 %, with what was used", async () => {
    const { client } = edge
    const budget = { tokens: 100 }
    const run = await client.create("/use 79\n/use 2\n/use 3\n/use 16\n/sleep 60000", "ask", { budget })
    assert.deepStrictEqual(run.budget, budget)
    const events = await client.log(run.id)
    assertWhole(events)
    const warnings = events.filter(({ payload }) => payload["role"] === "system")
    assert.deepStrictEqual(
      warnings.map(({ payload }) => payload["text"]),
      ["81 % of the run's token budget is used: 81 of 100."]
    )
    const failed = events.at(-1)
    assert.deepInclude(failed?.payload["error"], {
      code: "budget_exceeded",
      details: { reason: "budget_used_up", budget: "tokens", used: 100, limit: 100 }
    })
    assert.deepInclude(failed?.payload["usage"], { outputTokens: 100, turns: 4 })
    assert.deepInclude((await client.run(run.id)).usage, { outputTokens: 100 })
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("of turns and of time ends the run as well; one that is not reached changes nothing", async () => {
    const { client } = edge
    const turns = await client.create("/use 1\n/use 1\n/sleep 60000", "ask", { budget: { turns: 2 } })
    const time = await client.create("/ask", "ask", { budget: { wallMs: 5_000 } })
    const within = await client.create("/use 5\n/say done", "ask", { budget: { turns: 9, tokens: 99 } })
    assert.deepInclude((await client.log(turns.id)).at(-1)?.payload["error"], { code: "budget_exceeded" })
    // It waited for a person all the while: this clock does not stand.
    const late = await client.log(time.id)
    assertWhole(late)
    assert.deepInclude(late.at(-1)?.payload["error"], { code: "run_timeout" })
    assert.strictEqual(late.filter(({ payload }) => payload["role"] === "system").length, 1)
    assert.strictEqual((await client.log(within.id)).at(-1)?.type, "run.completed")
  })

  it("of the cost warns at 80 % and ends the run at 100 %, and the log says what it has cost", async () => {
    const { client } = edge
    const budget = { costUsd: 0.5 }
    const run = await client.create("/use 5 0.1\n/use 5 0.3\n/use 5 0.1\n/sleep 60000", "ask", { budget })
    const events = await client.log(run.id)
    assertWhole(events)
    assert.deepStrictEqual(
      events.filter(({ payload }) => payload["role"] === "system").map(({ payload }) => payload["text"]),
      ["80 % of the run's cost budget is used: $0.40 of $0.50."]
    )
    assert.deepInclude(events.at(-1)?.payload["error"], {
      code: "budget_exceeded",
      details: { reason: "budget_used_up", budget: "costUsd", used: 0.5, limit: 0.5 }
    })
    const usage = { outputTokens: 15, turns: 3, costUsd: 0.5, costSource: "program" } as const
    assert.deepStrictEqual(events.at(-1)?.payload["usage"], usage)
    assert.deepStrictEqual((await client.run(run.id)).usage, usage)
  })

  it("of the cost ends a run whose program gives no figure for its tokens", async () => {
    const { client } = edge
    const run = await client.create("/use 5\n/sleep 60000", "ask", { budget: { costUsd: 1 } })
    const failed = (await client.log(run.id)).at(-1)
    assert.deepInclude(failed?.payload["error"], {
      code: "budget_exceeded",
      details: { reason: "cost_unknown", budget: "costUsd" }
    })
    assert.deepStrictEqual(failed?.payload["usage"], { outputTokens: 5, turns: 1 })
  })

  it("that an agent can't count is refused at its field, for every agent and runner", async () => {
    const { client } = edge
    const offers = await Promise.all(["/v1/agents", "/v1/runners"].map((path) => client.ask("GET", path)))
    const agents = offers.flatMap(({ body }) => (body as { readonly items: ReadonlyArray<Agent> }).items)
    assert.isAbove(agents.length, 10)
    const refused: Array<string> = []
    for (const { counts = [], id: agentId } of agents)
      for (const counted of CountedLimit.literals) {
        const limit = counted === "cost" ? "costUsd" : counted
        const body = { agentId, budget: { [limit]: 5, wallMs: 60_000 } }
        const paths = issuesOf(await client.tryCreate("/say hi", "full_access", body))
        assert.deepStrictEqual(
          paths,
          counts.includes(counted) ? [] : [`budget.${limit}`],
          `${agentId} ${limit}`
        )
        if (paths.length > 0) refused.push(limit)
      }
    assert.includeMembers(refused, ["tokens", "turns", "costUsd"])
  })

  it("that makes no sense is refused", async () => {
    const { client } = edge
    const wrong = [
      ["budget.tokens", { tokens: 0 }],
      ["budget.turns", { turns: -1 }],
      ["budget.wallMs", { wallMs: 10 }],
      ["budget.tokens", { tokens: 1.5 }],
      ["budget.costUsd", { tokens: 10, costUsd: 0 }],
      ["budget.costUsd", { costUsd: 1_000_001 }],
      ["budget.*", { token: 10 }],
      ["budget", "a lot"]
    ] as const
    for (const [path, budget] of wrong) {
      const response = await client.tryCreate("/say hi", "ask", { budget })
      assert.strictEqual(codeOf(response), "schema_validation_failed")
      assert.deepStrictEqual(issuesOf(response), [path])
    }
  })
})

describe("A full Edge", () => {
  it("lets runs wait for their turn, cancels a waiting one at once, and refuses beyond the line", async () => {
    const edge = await openEdgeInProcess({
      env: { ...grace, CORRAL_EDGE_MAX_RUNS: "1", CORRAL_EDGE_MAX_QUEUED: "2" }
    })
    const { client } = edge
    const live = await client.create("/wait")
    await (await client.follow({ runId: live.id })).event("run.started")
    const impatient = await client.create("/say never")
    const patient = await client.create("/say at last")
    assert.strictEqual(codeOf(await client.tryCreate("/say too many")), "overloaded")
    assert.strictEqual((await client.run(patient.id)).state, "created")
    const { runs } = (await client.ask("GET", "/v1/health")).body as Pick<EdgeReadiness, "runs">
    assert.deepStrictEqual(runs, { live: 1, queued: 2 })

    const cancelled = await client.cancel(impatient.id)
    assert.strictEqual(cancelled.status, 200, cancelled.text)
    const received = await client.log(impatient.id)
    assert.deepStrictEqual(
      received.map(({ type }) => type),
      ["run.created", "run.cancelled"]
    )
    const again = await client.create("/say me too")

    await client.ask("POST", `/v1/runs/${live.id}/input`, { body: { text: "go on" } })
    for (const { id } of [live, patient, again]) {
      const events = await client.log(id)
      assertWhole(events)
      assert.strictEqual(events.at(-1)?.type, "run.completed")
    }
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("stops with runs in the line, each of them cancelled", async () => {
    const edge = await openEdgeInProcess({ env: { ...grace, CORRAL_EDGE_MAX_RUNS: "1" } })
    const live = await edge.client.create("/sleep 60000")
    const waiting = await edge.client.create("/say never")
    await edge.stop()
    await edge.start()
    for (const { id } of [live, waiting]) assert.strictEqual((await edge.client.run(id)).state, "cancelled")
  })
})

describe("An Edge with room for one run", () => {
  const edge = new EdgeInProcess({ env: { ...grace, CORRAL_EDGE_MAX_RUNS: "1" } })
  beforeAll(() => edge.start())
  afterAll(() => edge.remove())

  it("keeps what a person says to a waiting run until its runtime is there", async () => {
    const { client } = edge
    const live = await client.create("/wait")
    await (await client.follow({ runId: live.id })).event("run.started")
    const waiting = await client.create("/wait\n/say heard")
    const response = await client.ask("POST", `/v1/runs/${waiting.id}/input`, { body: { text: "early" } })
    assert.strictEqual(response.status, 200, response.text)
    await client.ask("POST", `/v1/runs/${live.id}/input`, { body: { text: "go on" } })
    const events = await client.log(waiting.id)
    assertWhole(events)
    assert.strictEqual(events.at(-1)?.type, "run.completed")
  })

  it("takes a session that asks for one run before the rest of one that asked for many", async () => {
    const { client } = edge
    const order: Array<unknown> = []
    const live = await client.create("/wait")
    await (await client.follow({ runId: live.id })).event("run.started")
    const greedy = [
      await client.create("/say g1"),
      await client.create("/say g2"),
      await client.create("/say g3")
    ]
    const modest = await client.create("/say m1", "ask", { sessionId: "ses_01K9ZZZZZZZZZZZZZZZZZZZZZZ" })
    const ended = [...greedy, modest].map(async ({ id }) => {
      await client.log(id)
      order.push(id)
    })
    await client.ask("POST", `/v1/runs/${live.id}/input`, { body: { text: "go on" } })
    await Promise.all(ended)
    assert.deepStrictEqual(order, [greedy[0]?.id, modest.id, greedy[1]?.id, greedy[2]?.id])
  })
})
