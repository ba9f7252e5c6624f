/** Use of runs, summed over HTTP: rows, totals, CSV, and who may read them. */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import { dayIn } from "@corral/domain/usage/Day"
import { MAX_USAGE_ROWS, type UsageReport } from "@corral/domain/usage/UsageReport"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { codeOf } from "@corral/testing/http/Contract"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { makeTask, worldOf } from "../link/World.ts"

describe("The usage of runs", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const scene = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    const mirror = new Mirror(hub, world.deviceId)
    await mirror.link(world.projectId)
    let index = 0
    const run = async (usage: Usage | undefined, model: string | undefined, by: HubClient = world.client) => {
      const task = await makeTask({ ...world, client: by })
      assert.strictEqual(task.status, 201, task.text)
      const turn = await edge.turn(index++)
      await edge.create(turn)
      await edge.push(turn.runId, draft("run.started", model === undefined ? {} : { model }))
      await edge.push(turn.runId, draft("run.completed", usage === undefined ? {} : { usage }))
      return turn.runId
    }
    const report = (query: string, by: HubClient = world.client) =>
      by.ask<UsageReport>("GET", `/client/usage?${query}`)
    return { world, edge, mirror, run, report }
  }

  it("is summed by each dimension, with the total", async () => {
    const here = await scene()
    const { client, projectId } = here.world
    const other = await hub.signedIn("grace")
    await here.mirror.member(client.userId, projectId, other.userId, "member")
    await here.run(
      { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, costUsd: 0.1, turns: 2 },
      "big"
    )
    await here.run(
      { inputTokens: 50, reasoningTokens: 0, costUsd: 0.2, costSource: "estimated" },
      "big",
      other
    )
    // A subscription or an unknown model.
    await here.run({ inputTokens: 7, outputTokens: 3 }, "small", other)
    await here.run(undefined, undefined)
    const all = await here.report(`projectId=${projectId}&by=person,model`)
    assert.strictEqual(all.status, 200, all.text)
    assert.deepStrictEqual(all.body.by, ["person", "model"])
    assert.deepStrictEqual(
      all.body.rows.map(({ costUsd, inputTokens, model, runs, userId, userName }) => [
        userId,
        userName,
        model,
        runs,
        inputTokens,
        costUsd
      ]),
      [
        [other.userId, "grace", "big", 1, 50, 0.2],
        [client.userId, all.body.rows[1]?.userName, "big", 1, 100, 0.1],
        [other.userId, "grace", "small", 1, 7, 0],
        [client.userId, all.body.rows[1]?.userName, null, 1, 0, 0]
      ]
    )
    assert.deepStrictEqual(all.body.total, {
      runs: 4,
      liveRuns: 0,
      inputTokens: 157,
      outputTokens: 23,
      cachedInputTokens: 60,
      reasoningTokens: 0,
      turns: 2,
      costUsd: 0.3,
      estimatedUsd: 0.2,
      runsWithoutCost: 1
    })
    const small = await here.report(`projectId=${projectId}&by=day,project,agent&model=small`)
    assert.deepInclude<object>(small.body.rows[0] ?? {}, {
      day: dayIn("UTC", Date.now()),
      projectId,
      projectName: "P",
      agentId: "scripted",
      runs: 1
    })
    const mine = await here.report(`by=day&userId=${client.userId}`)
    assert.strictEqual(mine.body.total.runs, 2)
    const scripted = await here.report(`projectId=${projectId}&agentId=scripted`)
    assert.strictEqual(scripted.body.total.runs, 4)
    const unused = await here.report(`projectId=${projectId}&agentId=unused`)
    assert.deepStrictEqual([unused.body.rows, unused.body.total.runs], [[], 0])
  })

  it("stays readable after figures that no run can have", async () => {
    const here = await scene()
    const { projectId } = here.world
    const largest = Number.MAX_SAFE_INTEGER
    const usage = { inputTokens: largest, outputTokens: largest, costUsd: 1e300 }
    await here.run(usage, "x".repeat(5_000))
    await here.run(usage, "y")
    const { body, status, text } = await here.report(`projectId=${projectId}&by=model`)
    assert.strictEqual(status, 200, text)
    assert.strictEqual(body.total.inputTokens, largest)
    assert.deepStrictEqual(body.rows.map(({ model }) => model?.length).toSorted(), [1, 200])
  })

  it("is a CSV file, in which texts are no formulas", async () => {
    const here = await scene()
    const { client, projectId } = here.world
    await here.run({ inputTokens: 5, costUsd: 0.000_001 }, '=cmd|"x",1')
    await here.run({ inputTokens: 4 }, "＝cmd")
    const response = await fetch(`${hub.url}/client/usage/csv?projectId=${projectId}&by=model`, {
      headers: { authorization: `Bearer ${client.token}` }
    })
    assert.strictEqual(response.headers.get("content-type"), "text/csv; charset=utf-8")
    assert.match(
      response.headers.get("content-disposition") ?? "",
      /^attachment; filename="usage-[\d-]+\.csv"$/
    )
    assert.strictEqual(
      await response.text(),
      "model,runs,liveRuns,inputTokens,outputTokens,cachedInputTokens,reasoningTokens,turns,costUsd,estimatedUsd,runsWithoutCost\r\n" +
        `"'=cmd|""x"",1",1,0,5,0,0,0,0,0.000001,0,0\r\n'＝cmd,1,0,4,0,0,0,0,0,0,1\r\n`
    )
  })

  it("has all rows in a CSV file, also more than a response has", async () => {
    const here = await scene()
    const { client, projectId } = here.world
    const { databaseUrl = "" } = hub
    await query(
      databaseUrl,
      `INSERT INTO runs (id, project_id, target_id, offer, made, state, created_at, updated_at)
       SELECT 'run_' || n || '${projectId}', '${projectId}', 'dev', '{"agentId": "a"}', '{}', 'completed', now(), now()
       FROM generate_series(1, ${MAX_USAGE_ROWS + 1}) AS n`
    )
    await query(databaseUrl, `UPDATE run_usage SET model = run_id WHERE project_id = '${projectId}'`)
    const { body } = await here.report(`projectId=${projectId}&by=model`)
    assert.deepStrictEqual([body.rows.length, body.truncated], [MAX_USAGE_ROWS, true])
    const response = await fetch(`${hub.url}/client/usage/csv?projectId=${projectId}&by=model`, {
      headers: { authorization: `Bearer ${client.token}` }
    })
    // With a header line and an end of the last line.
    assert.lengthOf((await response.text()).split("\r\n"), MAX_USAGE_ROWS + 3)
  })

  it("contains only projects that the reader may read, and refuses wrong ranges and groupings", async () => {
    const here = await scene()
    const { projectId } = here.world
    await here.run({ inputTokens: 5 }, "big")
    const stranger = await hub.signedIn("stranger")
    assert.strictEqual(codeOf(await here.report(`projectId=${projectId}`, stranger)), "permission_denied")
    const none = await here.report("by=project,day", stranger)
    assert.deepStrictEqual([none.body.rows, none.body.total.runs], [[], 0])
    for (const query of [
      "by=hour",
      "by=day,day",
      "from=2026-02-30",
      "from=2026-03-02&to=2026-03-01",
      "from=2020-01-01&to=2026-03-01"
    ])
      assert.strictEqual(codeOf(await here.report(query)), "schema_validation_failed", query)
    // 30 days before them there is no date.
    assert.strictEqual((await here.report("to=0000-01-05")).body.from, "0000-01-01")
  })

  it("keeps what runs of a removed person have used", async () => {
    const here = await scene()
    const { client, projectId } = here.world
    const other = await hub.signedIn("grace")
    await here.mirror.member(client.userId, projectId, other.userId, "member")
    await here.run({ inputTokens: 5 }, "big", other)
    await here.mirror.noMember(client.userId, projectId, other.userId)
    const { body } = await here.report(`projectId=${projectId}&by=person`)
    assert.deepStrictEqual(
      body.rows.map(({ inputTokens, userName }) => [userName, inputTokens]),
      [["grace", 5]]
    )
  })
})
