/** Metrics of what runs use, and of limits that are used up. */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { makeTask, worldOf } from "../link/World.ts"

const METRICS_TOKEN = "a-metrics-token-of-a-test-of-usage"

describe("The metrics of usage", () => {
  const hub = new HubInProcess({ env: { CORRAL_METRICS_TOKEN: METRICS_TOKEN } })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const valueOf = async (series: string): Promise<number | undefined> => {
    const response = await fetch(`${hub.url}/metrics`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` }
    })
    const line = (await response.text()).split("\n").find((each) => each.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }

  it("count the most that a run reports, and limits that are used up today", async () => {
    const world = await worldOf(hub)
    const { client, projectId } = world
    const edge = await TalkingEdge.link(hub.url, world)
    await new Mirror(hub, world.deviceId).link(projectId)
    const budget = { runBudget: { costUsd: 1 } }
    assert.strictEqual(
      (await client.ask("PATCH", `/client/projects/${projectId}`, { body: budget })).status,
      200
    )
    const limit = await client.ask("PUT", `/client/projects/${projectId}/limits/everyone`, {
      body: { costUsd: 1 }
    })
    assert.strictEqual(limit.status, 200, limit.text)
    assert.strictEqual(await valueOf('corral_hub_limits_used{state="reached"}'), 0)

    assert.strictEqual((await makeTask(world)).status, 201)
    const turn = await edge.turn(0)
    await edge.create(turn)
    const usages: ReadonlyArray<Usage> = [
      { inputTokens: 100, outputTokens: 10, costUsd: 0.25, costSource: "program" },
      { inputTokens: 300, outputTokens: 30, costUsd: 0.75, costSource: "estimated" },
      // A program that corrects itself.
      { inputTokens: 200, outputTokens: 30, costUsd: 0.5, costSource: "program" },
      // A call whose price is unknown: the run has no cost until the program reports one.
      { inputTokens: 250, outputTokens: 35 }
    ]
    await edge.push(turn.runId, draft("run.started", {}))
    for (const usage of usages) await edge.push(turn.runId, draft("run.usage.updated", { usage }))
    const final: Usage = { inputTokens: 400, outputTokens: 40, costUsd: 1, costSource: "program" }
    await edge.push(turn.runId, draft("run.completed", { usage: final }))

    await until(async () => (await valueOf('corral_hub_limits_used{state="reached"}')) === 1, "the limit")
    assert.strictEqual(await valueOf('corral_hub_limits_used{state="near"}'), 0)
    assert.deepStrictEqual(
      [
        await valueOf('corral_hub_run_cost_usd_total{source="program"}'),
        await valueOf('corral_hub_run_cost_usd_total{source="estimated"}'),
        await valueOf('corral_hub_run_tokens_total{direction="input"}'),
        await valueOf('corral_hub_run_tokens_total{direction="output"}')
      ],
      [0.5, 0.5, 400, 40]
    )
  })
})
