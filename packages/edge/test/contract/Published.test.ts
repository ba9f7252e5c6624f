/** Every path of the published contract that this Edge serves, asked for once; the client judges each answer by `openapi/edge.json`. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { contractOf } from "@corral/testing/http/Contract"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"

const breaches = contractOf("edge")

describe("The published contract", () => {
  it("describes what is answered", async () => {
    const { client } = await openEdgeInProcess()
    const run = await client.create("/write notes.txt hello", "ask", {
      model: "any/model-1",
      timeoutMs: 60_000
    })
    const reader = await client.follow({ runId: run.id })
    const approvalId = String((await reader.event("run.approval.requested")).payload["approvalId"])
    const targets = [
      "/health",
      "/v1/health",
      "/openapi.json",
      "/asyncapi.json",
      "/v1/agents",
      "/v1/runners",
      "/v1/workspaces",
      "/v1/runs",
      "/v1/runs?state=waiting_approval&limit=1",
      `/v1/runs/${run.id}`,
      `/v1/runs/${run.id}/events?limit=2`,
      "/v1/permissions",
      `/v1/permissions/${approvalId}`,
      "/v1/grants?workspace=ws"
    ]
    for (const target of targets) assert.strictEqual((await client.ask("GET", target)).status, 200, target)
    assert.strictEqual((await client.result(run.id)).status, 202)
    await client.decide(run.id, approvalId, "allow")
    await reader.ended
    assert.strictEqual((await client.result(run.id)).status, 200)
    for (const target of targets) assert.strictEqual((await client.ask("GET", target)).status, 200, target)
    const health = await client.ask("GET", "/v1/health", { token: null })
    assert.deepStrictEqual(Object.keys(health.body as object).sort(), ["instanceId", "status"])
  })

  it("is judged by a validator that can say no", () => {
    const run = { id: "run_00000000000000000000000000" }
    assert.isNotEmpty(breaches("GET", "/v1/runs/run_00000000000000000000000000", 200, run))
    assert.isNotEmpty(
      breaches("GET", "/v1/runs/x", 404, { code: "not_found", message: "x", requestId: "r", more: 1 })
    )
    assert.isNotEmpty(breaches("GET", "/v1/nowhere", 200, {}))
    assert.isNotEmpty(breaches("GET", "/health", 200, { status: "fine", instanceId: "x" }))
    assert.isEmpty(breaches("GET", "/health", 200, { status: "ok", instanceId: "x" }))
    assert.include(
      readFileSync(new URL("../../../../openapi/edge.json", import.meta.url), "utf8"),
      "/v1/runs"
    )
  })

  it("pages over all runs, newest first, with cursors that are bound to their list", async () => {
    const { client } = await openEdgeInProcess()
    const ids: Array<string> = []
    for (let i = 0; i < 7; i++) ids.push((await client.create("/say hello")).id)
    const found: Array<string> = []
    let cursor: string | null = ""
    while (cursor !== null) {
      const answer = await client.ask("GET", `/v1/runs?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`)
      const page = answer.body as {
        readonly items: ReadonlyArray<{ readonly id: string }>
        readonly nextCursor: string | null
      }
      if (cursor === "") {
        const foreign = await client.ask("GET", `/v1/runs?state=completed&cursor=${String(page.nextCursor)}`)
        assert.strictEqual(foreign.status, 422)
      }
      found.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    }
    assert.deepStrictEqual(found, ids.toReversed())
  })
})
