/** End of a run: the clock that stops during an approval request, and `/result` with the error table's rows. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, unknown>> }>>>
  >
}

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "300" } })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

describe("The timeout", () => {
  it("does not count the time a person takes", async () => {
    const run = await client.create("/ask\n/say after", "ask", { timeoutMs: 3_000 })
    const reader = await client.follow({ runId: run.id })
    const requested = await reader.event("run.approval.requested")
    // Another run is the clock: when it is over, more than the timeout has passed.
    await client.log((await client.create("/sleep 3500")).id)
    assert.strictEqual((await client.run(run.id)).state, "waiting_approval")
    await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
    await reader.ended
    assertWhole(reader.events)
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    assert.isFalse(reader.events.some(({ type }) => type === "runtime.timeout"))
  })

  it("of a run has a cap that no waiting stops, and that is 24 hours at most", async () => {
    const separateEdge = await openEdgeInProcess({
      env: { CORRAL_EDGE_RUN_CAP_MS: "3000", CORRAL_EDGE_CANCEL_GRACE_MS: "300" }
    })
    const run = await separateEdge.client.create("/ask", "ask", { timeoutMs: 60_000 })
    assert.strictEqual(run.timeoutMs, 3_000, "its active time is no more than that either")
    const events = await separateEdge.client.log(run.id)
    assertWhole(events)
    const timeout = events.find(({ type }) => type === "runtime.timeout")
    const failed = events.at(-1)
    assert.deepInclude(timeout?.payload, { kind: "cap", afterMs: 3_000 })
    assert.deepInclude(failed?.payload["error"], { code: "run_timeout" })
    assert.deepInclude(events.find(({ type }) => type === "run.approval.resolved")?.payload, {
      state: "cancelled"
    })
    const result = await separateEdge.client.result(run.id)
    assert.deepStrictEqual([result.status, codeOf(result)], [504, "run_timeout"])
    assert.strictEqual(
      (await separateEdge.client.tryCreate("/say x", "ask", { timeoutMs: 86_400_001 })).status,
      422
    )
  })

  it("ends the run as run_timeout, told before", async () => {
    const run = await client.create("/sleep 60000", "ask", { timeoutMs: 1_000 })
    const events = await client.log(run.id)
    assertWhole(events)
    const [timeout, failed] = events.slice(-2)
    assert.strictEqual(timeout?.type, "runtime.timeout")
    assert.deepInclude(timeout?.payload, { kind: "run", afterMs: 1_000 })
    assert.strictEqual(failed?.type, "run.failed")
    assert.deepInclude(failed?.payload["error"], { code: "run_timeout" })
    assert.deepStrictEqual(edge.survivors(), [])
    const result = await client.result(run.id)
    assert.deepStrictEqual([result.status, codeOf(result)], [504, "run_timeout"])
  })
})

describe("Silence", () => {
  it("ends a run whose runtime hangs, and not one that waits for a person", async () => {
    const impatient = await openEdgeInProcess({
      env: {
        CORRAL_EDGE_CANCEL_GRACE_MS: "300",
        CORRAL_EDGE_SILENCE_MS: "1000",
        CORRAL_EDGE_SILENCE_NOTICE_MS: "100"
      }
    })
    const { client } = impatient
    const waitingRun = await client.create("/ask\n/say after")
    const reader = await client.follow({ runId: waitingRun.id })
    const requested = await reader.event("run.approval.requested")
    // The run that hangs is the clock: when it is over, the other has been silent for as long.
    const events = await client.log((await client.create("/say hello\n/ignore-signals\n/hang")).id)
    assertWhole(events)
    const [timeout, failed] = events.slice(-2)
    assert.deepInclude(timeout?.payload, { kind: "silence", afterMs: 1_000 })
    const replacements = events.findLastIndex(({ type }) => type === "run.message.completed")
    const notices = events
      .slice(replacements)
      .filter(({ type }) => type === "runtime.retrying")
      .map(({ payload }) => payload)
    assert.isNotEmpty(notices)
    assert.isBelow(notices.length, 5, "each takes twice as long as the one before")
    for (const notice of notices) assert.deepInclude(notice, { reason: "silence" })
    assert.deepInclude(failed?.payload["error"], { code: "run_timeout" })
    assert.strictEqual((await client.run(waitingRun.id)).state, "waiting_approval")
    await client.decide(waitingRun.id, String(requested.payload["approvalId"]), "allow")
    await reader.ended
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    const types = reader.events.map(({ type }) => type)
    const waiting = types.slice(
      types.indexOf("run.approval.requested"),
      types.indexOf("run.approval.resolved")
    )
    assert.notInclude(waiting, "runtime.retrying", "a run that waits for a person is not silent")
    assert.deepStrictEqual(impatient.survivors(), [])
  })
})

describe("/result", () => {
  it("gives a completed run with its text, waited for", async () => {
    const run = await client.create("/say the answer")
    const result = await client.result(run.id, 60_000)
    assert.strictEqual(result.status, 200)
    assert.deepInclude(result.body, { text: "the answer" })
    assert.deepStrictEqual((result.body as { readonly run?: unknown }).run, await client.run(run.id))
  })

  it("is 202 while the run is in progress, then 409 when it was cancelled", async () => {
    const run = await client.create("/sleep 60000")
    assert.strictEqual((await client.result(run.id)).status, 202)
    assert.strictEqual((await client.result(run.id, 50)).status, 202)
    const waiting = client.result(run.id, 60_000)
    await client.cancel(run.id)
    const result = await waiting
    assert.deepStrictEqual([result.status, codeOf(result)], [409, "run_cancelled"])
  })

  for (const [what, script] of [
    ["crashed", "/crash"],
    ["left without a result", "/exit 3"]
  ] as const) {
    it(`is 503 when the runtime ${what}`, async () => {
      const run = await client.create(script)
      const result = await client.result(run.id, 60_000)
      assert.deepStrictEqual([result.status, codeOf(result)], [503, "runtime_unavailable"])
      assertWhole(await client.log(run.id))
    })
  }

  describe("of a runtime that gives up", () => {
    const endings = ["/fail I cannot continue", "/exit 3", "/exit 0"]
    const decided = async (script: string, decision: "allow" | "deny" | "cancel") => {
      const run = await client.create(script)
      const reader = await client.follow({ runId: run.id })
      const requested = await reader.event("run.approval.requested")
      const approvalId = String(requested.payload["approvalId"])
      await client.decide(run.id, approvalId, decision, decision === "deny" ? { reason: "not today" } : {})
      const result = await client.result(run.id, 60_000)
      assertWhole(await client.log(run.id))
      return { approvalId, result, run: await client.run(run.id) }
    }

    for (const ending of endings) {
      it(`is 403 where \`${ending}\` follows a denial`, async () => {
        const { approvalId, result, run } = await decided(`/write given-up.txt x\n${ending}`, "deny")
        assert.deepStrictEqual([result.status, codeOf(result)], [403, "approval_rejected"])
        const details = { approvalId, state: "denied", runId: run.id }
        assert.deepInclude((result.body as { readonly details?: object }).details, details)
        assert.strictEqual(run.state, "failed")
        assert.deepInclude(run.error, { code: "approval_rejected" })
        assert.include(run.error?.message, "not today")
      })

      it(`is the runtime's own failure where it continued before \`${ending}\``, async () => {
        const { result } = await decided(
          `/write given-up.txt x\n/say I try something else\n${ending}`,
          "deny"
        )
        assert.deepStrictEqual([result.status, codeOf(result)], [503, "runtime_unavailable"])
      })

      it(`is the runtime's own failure where the action before \`${ending}\` was allowed`, async () => {
        const { result } = await decided(`/write given-up.txt x\n${ending}`, "allow")
        assert.deepStrictEqual([result.status, codeOf(result)], [503, "runtime_unavailable"])
      })
    }

    it("is 409 where the decision was to cancel the run", async () => {
      const { result } = await decided("/write given-up.txt x\n/fail I cannot continue", "cancel")
      assert.deepStrictEqual([result.status, codeOf(result)], [409, "run_cancelled"])
    })

    it("is 200 where it completes after a denial", async () => {
      const { result } = await decided("/write given-up.txt x\n/say done without it", "deny")
      assert.strictEqual(result.status, 200)
    })

    it("is 403 where an approval expired", async () => {
      const impatient = await openEdgeInProcess({ env: { CORRAL_EDGE_APPROVAL_TTL_MS: "1000" } })
      const expired = await impatient.client.create("/write given-up.txt x\n/fail I cannot continue")
      const late = await impatient.client.result(expired.id, 60_000)
      assert.deepStrictEqual([late.status, codeOf(late)], [403, "approval_rejected"])
      assert.deepInclude((await impatient.client.run(expired.id)).error?.details, { state: "expired" })
    })

    it("is listed by the OpenAPI document", () => {
      const { paths } = JSON.parse(readFileSync("openapi/edge.json", "utf8")) as OpenApi
      const schemas = JSON.stringify(paths["/v1/runs/{id}/result"]?.["get"]?.responses["403"])
      assert.include(schemas, "Error_approval_rejected")
    })
  })

  it("of an unknown run is 404; a wait that is too long 422", async () => {
    assert.strictEqual((await client.result("run_00000000000000000000000000")).status, 404)
    const run = await client.create("/say hello")
    assert.strictEqual((await client.result(run.id, 60_001)).status, 422)
  })
})

describe("Input", () => {
  it("reaches a runtime that waits for it; a run that has ended takes none", async () => {
    const run = await client.create("/wait")
    const reader = await client.follow({ runId: run.id })
    await reader.event("run.started")
    const target = `/v1/runs/${run.id}/input`
    assert.strictEqual((await client.ask("POST", target, { body: { text: "hello there" } })).status, 200)
    await reader.ended
    assertWhole(reader.events)
    const messages = reader.events
      .filter(({ type }) => type === "run.message.completed")
      .map(({ payload }) => [payload["role"], payload["text"]])
    assert.deepStrictEqual(messages, [
      ["user", "hello there"],
      ["assistant", "hello there"]
    ])
    const late = await client.ask("POST", target, { body: { text: "too late" } })
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "conflict"])
  })
})
