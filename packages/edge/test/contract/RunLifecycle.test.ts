/** A run from its creation to its end, as its snapshot and its log tell it: states, defaults, what it was given, what a restart leaves. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { writeProgram } from "../Folder.ts"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { until } from "@corral/testing/time/Until"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess({
    grants: ["full_access"],
    env: { CORRAL_EDGE_CANCEL_GRACE_MS: "300", CORRAL_EDGE_ALLOWED_ENV: JSON.stringify(["TEAM", "COLOUR"]) }
  })
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const idsIn = async (of: EdgeClient, state: string): Promise<ReadonlyArray<string>> => {
  const { body } = await of.ask("GET", `/v1/runs?state=${state}`)
  return (body as { readonly items: ReadonlyArray<{ readonly id: string }> }).items.map(({ id }) => id)
}

describe("The state of a run", () => {
  it("is created, starting, running, waiting_approval, running and completed, in snapshots and lists", async () => {
    const separateEdge = await openEdgeInProcess({
      grants: ["full_access"],
      env: { CORRAL_EDGE_MAX_RUNS: "1", CORRAL_EDGE_CANCEL_GRACE_MS: "300" }
    })
    // A runtime that has not started yet: it writes nothing until the test says so.
    const gate = join(separateEdge.folder, "gate")
    const program = join(separateEdge.folder, "silent")
    writeProgram(program, `while [ ! -e ${gate} ]; do sleep 0.05; done; echo here I am`)
    const silent = { id: "silent", label: "Silent", runtime: "text", command: [program], stdin: "prompt" }
    writeFileSync(join(separateEdge.home, "edge.config.json"), JSON.stringify({ runners: [silent] }), {
      mode: 0o600
    })
    const stateIs = async (id: string, state: string) => {
      assert.strictEqual((await separateEdge.client.run(id)).state, state)
      assert.deepStrictEqual(await idsIn(separateEdge.client, state), [id])
    }

    const first = await separateEdge.client.create("hello", "full_access", { agentId: "silent" })
    const second = await separateEdge.client.create("/wait\n/ask\n/wait")
    const following = await separateEdge.client.follow({ runId: first.id })
    await following.event("run.created")
    // The log does not tell when a program was started; that it is there does.
    await until(
      async () => ((await separateEdge.client.run(first.id)).state === "created" ? undefined : true),
      "the program"
    )
    await stateIs(first.id, "starting")
    await stateIs(second.id, "created")
    assert.deepStrictEqual(
      following.events.map(({ type }) => type),
      ["run.created"]
    )
    writeFileSync(gate, "")
    await following.ended
    await stateIs(first.id, "completed")

    const reader = await separateEdge.client.follow({ runId: second.id })
    await reader.event("run.started")
    await stateIs(second.id, "running")
    const send = (text: string) =>
      separateEdge.client.ask("POST", `/v1/runs/${second.id}/input`, { body: { text } })
    await send("go on")
    const requested = await reader.event("run.approval.requested")
    await stateIs(second.id, "waiting_approval")
    const approvalId = String(requested.payload["approvalId"])
    assert.deepStrictEqual((await separateEdge.client.run(second.id)).pendingApprovals.map(String), [
      approvalId
    ])
    await separateEdge.client.decide(second.id, approvalId, "allow")
    await reader.event("run.approval.resolved")
    await stateIs(second.id, "running")
    assert.deepStrictEqual((await separateEdge.client.run(second.id)).pendingApprovals, [])
    await send("go on")
    await reader.ended
    assertWhole(reader.events)
    assert.deepStrictEqual(
      new Set(await idsIn(separateEdge.client, "completed")),
      new Set([first.id, second.id])
    )
    assert.deepStrictEqual(await idsIn(separateEdge.client, "running"), [])
  })

  it("that is terminal absorbs everything", async () => {
    for (const [script, state] of [
      ["/say done", "completed"],
      ["/fail on purpose", "failed"],
      ["/sleep 60000", "cancelled"]
    ] as const) {
      const run = await client.create(script)
      if (state === "cancelled") await client.cancel(run.id)
      assertWhole(await client.log(run.id))
      const ended = await client.run(run.id)
      assert.strictEqual(ended.state, state)
      await client.cancel(run.id)
      const late = await client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "more" } })
      assert.deepStrictEqual([late.status, codeOf(late)], [409, "conflict"])
      assert.deepStrictEqual(await client.run(run.id), ended)
      assert.strictEqual((await client.log(run.id)).length, ended.lastSeq)
      assert.include(await idsIn(client, state), run.id)
    }
  })
})

describe("A run", () => {
  it("has 30 minutes, and so has each of its approvals, where nothing else is said", async () => {
    const run = await client.create("/ask")
    assert.strictEqual(run.timeoutMs, 1_800_000)
    const reader = await client.follow({ runId: run.id })
    const requested = await reader.event("run.approval.requested")
    const { expiresAt, id, requestedAt, state } = await client.approval(
      String(requested.payload["approvalId"])
    )
    assert.strictEqual(state, "pending")
    assert.strictEqual(Date.parse(expiresAt) - Date.parse(requestedAt), 1_800_000)
    assert.strictEqual(requested.payload["expiresAt"], expiresAt)
    await client.decide(run.id, id, "deny")
    await reader.ended
  })

  it("is what was asked for: session, model, timeout, isolation, and environment by allowed name", async () => {
    const sessionId = "ses_01K9ZZZZZZZZZZZZZZZZZZZZZZ"
    const more = {
      sessionId,
      model: "any/model-1",
      timeoutMs: 60_000,
      isolation: "none",
      env: { TEAM: "blue", COLOUR: "red" }
    }
    const run = await client.create("/shell echo [$TEAM $COLOUR]", "full_access", more)
    const { env: _, ...rest } = more
    assert.deepInclude(run as object, { ...rest, state: "created", lastSeq: 1, pendingApprovals: [] })
    const log = await client.log(run.id)
    for (const { agentId, payload, runId, sessionId: session } of log) {
      assert.deepStrictEqual([String(runId), agentId, session], [String(run.id), "scripted", sessionId])
      assert.strictEqual(payload["v"], 1)
    }
    assert.include(JSON.stringify(log), "[blue red]")
    assert.deepInclude(log[0]?.payload, { workspace: "ws", mode: "full_access", input: run.input })
    const other = await client.tryCreate("/say x", "ask", { env: { TEAM: "blue", OTHER: "hunter2" } })
    assert.deepStrictEqual([other.status, codeOf(other)], [403, "permission_denied"])
    assert.deepInclude(other.body, { details: { names: ["OTHER"] } })
  })

  it("continues an earlier run's conversation", async () => {
    const first = await client.create("/say first")
    await client.log(first.id)
    const second = await client.create("/say second", "ask", { resume: first.id })
    const log = await client.log(second.id)
    assert.deepInclude(log[0]?.payload, { resume: first.id })
    const [one, two] = [await client.run(first.id), await client.run(second.id)]
    assert.isString(one.runtimeSessionId)
    assert.strictEqual(two.runtimeSessionId, one.runtimeSessionId)
    assert.strictEqual(two.resume, first.id)
  })

  it("is the only one that continues a conversation", async () => {
    const first = await client.create("/say first")
    await client.log(first.id)
    const tries = await Promise.all(
      Array.from({ length: 4 }, () => client.tryCreate("/wait", "ask", { resume: first.id }))
    )
    const started = tries.filter(({ status }) => status === 201)
    assert.lengthOf(started, 1)
    for (const { body, status } of tries.filter((each) => each.status !== 201)) {
      assert.strictEqual(status, 422)
      const issues = [{ path: "resume", message: "Another run is continuing this conversation." }]
      assert.deepInclude(body, { code: "schema_validation_failed", details: { issues } })
    }
    const second = String(Reflect.get(Object(started[0]?.body), "id"))
    await until(async () => (await client.run(second)).runtimeSessionId, "the conversation", 10_000)
    const nested = await client.tryCreate("/say again", "ask", { resume: second })
    assert.strictEqual(codeOf(nested), "schema_validation_failed")
    await client.cancel(second)
    await client.log(second)
    const third = await client.create("/say again", "ask", { resume: second })
    assert.strictEqual((await client.log(third.id)).at(-1)?.type, "run.completed")
  })

  it("tells what it used and why it failed in its snapshot", async () => {
    const run = await client.create("/use 12\n/use 30\n/fail the model is away")
    const log = await client.log(run.id)
    const { endedAt, error, state, usage } = await client.run(run.id)
    assert.deepStrictEqual([state, endedAt], ["failed", log.at(-1)?.createdAt])
    assert.deepInclude(usage, { outputTokens: 42, turns: 2 })
    assert.deepStrictEqual(error, log.at(-1)?.payload["error"])
    const result = await client.result(run.id)
    assert.deepStrictEqual([result.status, codeOf(result)], [503, "runtime_unavailable"])
    assert.deepInclude(result.body, { message: "the model is away" })
  })

  it("whose runtime takes no further message says so", async () => {
    const separateEdge = await openEdgeInProcess({
      grants: ["full_access"],
      env: { CORRAL_EDGE_CANCEL_GRACE_MS: "300" }
    })
    const program = join(separateEdge.folder, "deaf")
    writeProgram(program, "echo here; sleep 60")
    const silentPair = { id: "deaf", label: "Deaf", runtime: "text", command: [program], stdin: "prompt" }
    writeFileSync(join(separateEdge.home, "edge.config.json"), JSON.stringify({ runners: [silentPair] }), {
      mode: 0o600
    })
    const run = await separateEdge.client.create("hello", "full_access", { agentId: "deaf" })
    const reader = await separateEdge.client.follow({ runId: run.id })
    await reader.event("run.message.delta")
    const answer = await separateEdge.client.ask("POST", `/v1/runs/${run.id}/input`, {
      body: { text: "more" }
    })
    assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
    await separateEdge.client.cancel(run.id)
    assert.isFalse(reader.events.some(({ payload }) => payload["role"] === "user"))
  })
})

describe("A run whose Edge was killed", () => {
  it("has failed at the next start, its approval cancelled, and both have events", async () => {
    const separateEdge = await openEdgeProcess()
    const run = await separateEdge.client.create("/write never.txt hello")
    const decided = await separateEdge.client.create("/ask\n/wait")
    const [reader, other] = [
      await separateEdge.client.follow({ runId: run.id }),
      await separateEdge.client.follow({ runId: decided.id })
    ]
    const idOf = async (of: typeof reader) =>
      String((await of.event("run.approval.requested")).payload["approvalId"])
    const [pending, approved] = [await idOf(reader), await idOf(other)]
    await separateEdge.client.decide(decided.id, approved, "allow")
    await other.event("run.approval.resolved")
    const before = await separateEdge.client.approval(approved)
    await separateEdge.kill()
    await separateEdge.start()
    const again = separateEdge.client
    assert.deepStrictEqual(await again.approval(approved), before, "what was decided stays decided")
    assert.strictEqual((await again.approval(pending)).state, "cancelled")
    const late = await again.decide(run.id, pending, "allow")
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "approval_already_resolved"])
    assert.deepInclude(late.body, { details: { approvalId: pending, state: "cancelled" } })
    for (const { id } of [run, decided]) {
      const log = await again.log(id)
      assertWhole(log)
      assert.deepInclude(log.at(-1)?.payload["error"], { code: "runtime_unavailable" })
      const result = await again.result(id)
      assert.deepStrictEqual([result.status, codeOf(result)], [503, "runtime_unavailable"])
    }
  })
})
