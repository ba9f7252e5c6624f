/** Every event type that an Edge can say, once over a real stream: names, envelopes, payloads, paths. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type EventType, eventTypes } from "@corral/domain/run/RunEvent"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { writeProgram } from "../Folder.ts"
import type { EdgeClient, EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess({ grants: ["full_access"], env: { CORRAL_EDGE_CANCEL_GRACE_MS: "300" } })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

type Events = EventReader["events"]
const ofType = (events: Events, type: EventType) => events.filter((event) => event.type === type)
const seen = new Set<string>()

/** The log of a run that has ended; what it says is checked against the schema of each event. */
const logOf = async (runId: string): Promise<Events> => {
  const log = await client.log(runId)
  assertWhole(log)
  for (const { type, payload } of log) {
    seen.add(type)
    assert.strictEqual(payload["v"], 1)
  }
  return log
}

describe("The log", () => {
  it("tells a run's work: text, tools, files, approvals, artifacts, previews, the diff", async () => {
    writeFileSync(join(edge.workspace, "old.txt"), "old\n")
    mkdirSync(join(edge.workspace, "sub"))
    const script = [
      "/think hm",
      "/say hello there",
      "/read old.txt",
      "/write sub/new.txt new",
      "/artifact report.md text/markdown # Report",
      "/garbage 1",
      "/use 5 0.5",
      "/wait"
    ].join("\n")
    const run = await client.create(script)
    const reader = await client.follow({ runId: run.id })
    const requested = await reader.event("run.approval.requested")
    await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
    await reader.event("run.artifact.ready")
    const source = { kind: "folder", path: "sub" }
    const created = await client.ask("POST", "/v1/previews", {
      body: { workspace: "ws", title: "Sub", source, runId: run.id }
    })
    await reader.event("run.preview.ready")
    const used = await reader.event("run.usage.updated")
    assert.deepStrictEqual(used.payload["usage"], {
      outputTokens: 5,
      turns: 1,
      costUsd: 0.5,
      costSource: "program"
    })
    await client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
    const log = await logOf(run.id)
    const type = (of: EventType) => ofType(log, of)

    const [call] = type("run.tool.call")
    assert.deepInclude(call?.payload, { tool: "read", label: "Read old.txt", status: "started" })
    for (const { payload, seq } of type("run.tool.call")) {
      const results = type("run.tool.result").filter((one) => one.payload["callId"] === payload["callId"])
      assert.strictEqual(results.length, 1, "a call has one result")
      assert.isAbove(results[0]?.seq ?? 0, seq, "which follows it")
    }
    const pathOf = (of: EventType) => type(of).map(({ payload }) => payload["path"])
    assert.deepStrictEqual(pathOf("run.file.read"), ["old.txt"])
    assert.deepStrictEqual(pathOf("run.patch.proposed"), ["sub/new.txt"])
    assert.deepStrictEqual(pathOf("run.file.changed"), ["sub/new.txt"])
    assert.deepInclude(type("run.file.changed")[0]?.payload, { change: "created" })
    assert.deepInclude(type("run.diff.ready")[0]?.payload, { files: 1, additions: 1, deletions: 0 })
    assert.deepInclude(type("run.artifact.ready")[0]?.payload, { name: "report.md", size: 8 })
    assert.deepInclude(type("run.preview.ready")[0]?.payload, {
      previewId: (created.body as { readonly id: string }).id,
      title: "Sub"
    })
    assert.deepInclude(requested.payload["request"] as object, { action: "write", risk: "low" })
    const received = type("run.message.delta").filter(({ payload }) => payload["channel"] === "text")
    const whole = type("run.message.completed").find(({ payload }) => payload["text"] === "hello there")
    const same = received.filter(({ payload }) => payload["messageId"] === whole?.payload["messageId"])
    assert.strictEqual(same.map(({ payload }) => payload["text"]).join(""), "hello there")
  })

  it("records paths relative to the workspace, regardless of how the runtime wrote them", async () => {
    const script = [
      `/write ${join(edge.workspace, "absolute.txt")} hello`,
      "/write ./sub/../dotted.txt hello",
      `/read ${join(edge.workspace, "absolute.txt")}`
    ].join("\n")
    const log = await logOf((await client.create(script, "full_access")).id)
    const pathsOf = (type: EventType) => ofType(log, type).map(({ payload }) => payload["path"])
    assert.deepStrictEqual(pathsOf("run.file.changed"), ["absolute.txt", "dotted.txt"])
    assert.deepStrictEqual(pathsOf("run.patch.proposed"), pathsOf("run.file.changed"))
    assert.deepStrictEqual(pathsOf("run.file.read"), ["absolute.txt"])
  })

  it("tells what is asked, and what continues in the background", async () => {
    const script = [
      "/question Which?",
      "/steps completed Read | pending Write",
      "/notice warning Careful.",
      "/work w1 agent Write it",
      "/end-turn",
      "/worked w1 completed continues",
      "/turn",
      "/say done"
    ].join("\n")
    const run = await client.create(script)
    const { payload } = await (await client.follow({ runId: run.id })).event("run.input.requested")
    await client.answer(run.id, String(payload["inputId"]), { answers: { "1": "this" } })
    const log = await logOf(run.id)
    assert.deepInclude(ofType(log, "run.input.resolved")[0]?.payload, { state: "answered", by: "local" })
    assert.deepInclude(ofType(log, "run.turn.ended")[0]?.payload, { turn: 1, outstanding: 1 })
  })

  it("tells each end, and what led to it", async () => {
    const ends = async (script: string, more: object = {}) =>
      (await logOf((await client.create(script, "ask", { ...more })).id)).slice(-2)
    assert.strictEqual((await ends("/say hi")).at(-1)?.type, "run.completed")
    const [timeout, failed] = await ends("/sleep 60000", { timeoutMs: 1_000 })
    assert.deepStrictEqual([timeout?.type, failed?.type], ["runtime.timeout", "run.failed"])
    assert.deepInclude(timeout?.payload, { kind: "run", afterMs: 1_000 })
    const run = await client.create("/sleep 60000")
    await client.cancel(run.id)
    const cancelled = (await logOf(run.id)).at(-1)
    assert.deepInclude(cancelled?.payload, { by: "local", reason: "cancelled by the user" })
  })

  it("reports a silent runtime", async () => {
    const separateEdge = new EdgeInProcess({ env: { CORRAL_EDGE_SILENCE_NOTICE_MS: "100" } })
    try {
      await separateEdge.start()
      const run = await separateEdge.client.create("/say hello\n/hang")
      const reader = await separateEdge.client.follow({ runId: run.id })
      const { payload } = await reader.event("runtime.retrying")
      assert.deepInclude(payload, { v: 1, reason: "silence" })
      assert.isAtLeast(Number(payload["silentMs"]), 100)
      seen.add("runtime.retrying")
    } finally {
      await separateEdge.remove()
    }
  })

  it("tells that a program went away between the request and its start", async () => {
    const program = join(edge.folder, "fleeting")
    writeProgram(program, "echo here")
    const config = join(edge.home, "edge.config.json")
    const runner = { id: "fleeting", label: "Fleeting", runtime: "text", command: [program], stdin: "prompt" }
    writeFileSync(config, JSON.stringify({ runners: [runner] }), { mode: 0o600 })
    const separateEdge = new EdgeInProcess({
      grants: ["full_access"],
      env: { CORRAL_EDGE_MAX_RUNS: "1", CORRAL_EDGE_CONFIG_FILE: config }
    })
    try {
      await separateEdge.start()
      const first = await separateEdge.client.create(`/wait`)
      const second = await separateEdge.client.create("hello", "full_access", { agentId: "fleeting" })
      rmSync(program)
      await separateEdge.client.cancel(first.id)
      const log = await separateEdge.client.log(second.id)
      assertWhole(log)
      const [unavailable, failed] = log.slice(-2)
      assert.deepStrictEqual([unavailable?.type, failed?.type], ["runtime.unavailable", "run.failed"])
      assert.deepInclude(unavailable?.payload, { v: 1, reason: "command_missing" })
      assert.deepInclude(failed?.payload["error"], { code: "runtime_unavailable" })
      seen.add("runtime.unavailable")
    } finally {
      await separateEdge.remove()
    }
  })

  it("has by now said every name that is an Edge's, and none that is not in the vocabulary", () => {
    // Only a confined run writes `run.protected.changed` and `run.repository.changed`, and only one with a control group `run.paused` and
    // `run.resumed`: other tests have them, `e2e/ProtectedNames.test.ts` and `Pause.test.ts`. `Diffs.test.ts` has unknown changes.
    const elsewhere =
      /^(integration\.|identity\.|run\.(protected|repository|changes)\.|run\.(paused|resumed)$)/
    const edges = eventTypes.filter((type) => !elsewhere.test(type))
    assert.deepStrictEqual([...seen].toSorted(), [...edges].toSorted())
  })
})
