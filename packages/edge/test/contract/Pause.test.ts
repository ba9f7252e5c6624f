/** Pause and resume over real HTTP, of real processes in real control groups. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { type Answer, codeOf, type EdgeClient, type EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { UncontendedTime } from "@corral/testing/time/Until"
import { assertWhole } from "../harness/LogInvariants.ts"
import { sampleRepository } from "../workspace/Repository.ts"

const env = { CORRAL_EDGE_CANCEL_GRACE_MS: "300" }
const LIMIT_MS = 3_000

const pause = (client: EdgeClient, id: string) => client.ask("POST", `/v1/runs/${id}/pause`)
const resume = (client: EdgeClient, id: string) => client.ask("POST", `/v1/runs/${id}/resume`)

const assertRun = ({ body, status, text }: Answer, fields: object): void => {
  assert.strictEqual(status, 200, text)
  assert.deepInclude(body, fields)
}
const assertRefused = (answer: Answer, reason: string): void => {
  assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
  assert.deepInclude((answer.body as { readonly details: object }).details, { reason })
}

const pausedRun = async (client: EdgeClient, script: string, more: object = {}) => {
  const run = await client.create(script, "auto_edit", { ...more })
  const reader = await client.follow({ runId: run.id })
  await reader.message("ready")
  assertRun(await pause(client, run.id), { paused: true, state: "running" })
  return { run, reader }
}

const typesOf = ({ events }: EventReader): ReadonlyArray<string> =>
  events
    .map(({ type }) => type)
    .filter((type) => /^run\.(paused|resumed|cancelled|completed|failed)$/.test(type))

/** Whether the event has a text of `/stream`, which begins with the time when it was sent. */
const isStreamed = ({ payload, type }: Envelope): boolean =>
  type === "run.message.delta" && /^\d{6}/.test(String(payload["text"]))

describe.skipIf(groupsHere === undefined)("A paused run", () => {
  const edge = new EdgeInProcess({ env })
  beforeAll(() => edge.start())
  afterAll(() => edge.remove())

  it("prints nothing until it is resumed, and everything afterwards", async () => {
    const { client } = edge
    const run = await client.create("/say ready\n/stream 800 200 40")
    const reader = await client.follow({ runId: run.id })
    await reader.event(isStreamed)
    assertRun(await pause(client, run.id), { paused: true, state: "running" })
    const pausedAt = process.hrtime.bigint()
    // Another run, from its start to its end: the Edge and the machine continue meanwhile.
    await client.log((await client.create("/sleep 300\n/say done")).id)
    assert.isTrue((await client.run(run.id)).paused)
    const resumedAt = process.hrtime.bigint()
    const answer = await resume(client, run.id)
    assertRun(answer, { state: "running" })
    assert.notProperty(answer.body, "paused")
    await reader.ended
    assertWhole(reader.events)
    const sent = reader.events
      .filter(isStreamed)
      .map(({ payload }) => BigInt(String(payload["text"]).trim().split(" ")[0] ?? ""))
    assert.strictEqual(sent.length, 800)
    assert.deepStrictEqual(
      sent.filter((at) => at > pausedAt && at < resumedAt),
      []
    )
    assert.isTrue(sent.some((at) => at < pausedAt) && sent.some((at) => at > resumedAt))
    assert.deepStrictEqual(typesOf(reader), ["run.paused", "run.resumed", "run.completed"])
    const by = reader.events.filter(({ type }) => /^run\.(paused|resumed)$/.test(type))
    for (const { payload } of by) assert.deepStrictEqual(payload, { v: 1, by: "local" })
    assert.notProperty(await client.run(run.id), "paused")
  })

  it("stays paused when it is paused again, and a resume of a run that is not paused has no effect", async () => {
    const { client } = edge
    const { reader, run } = await pausedRun(client, "/say ready\n/hang")
    for (const answer of await Promise.all([pause(client, run.id), pause(client, run.id)]))
      assertRun(answer, { paused: true })
    assertRun(await resume(client, run.id), { state: "running" })
    assertRun(await resume(client, run.id), { state: "running" })
    await client.cancel(run.id)
    await reader.ended
    assert.deepStrictEqual(typesOf(reader), ["run.paused", "run.resumed", "run.cancelled"])
  })

  it("keeps one order of concurrent pauses and resumes in the log, and the processes follow it", async () => {
    const { client } = edge
    const { reader, run } = await pausedRun(client, "/say ready\n/wait")
    const requests = Array.from({ length: 40 }, (_, at) => (at % 3 === 0 ? resume : pause)(client, run.id))
    for (const { status, text } of await Promise.all(requests)) assert.strictEqual(status, 200, text)
    await resume(client, run.id)
    await client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
    await reader.ended
    assertWhole(reader.events)
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
  })

  it("can be decided: its state stays, and the program continues after the resume", async () => {
    const { client } = edge
    const run = await client.create("/ask\n/say later")
    const reader = await client.follow({ runId: run.id })
    const { payload } = await reader.event("run.approval.requested")
    assertRun(await pause(client, run.id), { paused: true, state: "waiting_approval" })
    await client.decide(run.id, String(payload["approvalId"]), "allow")
    assert.deepInclude(await client.run(run.id), { paused: true, state: "running", pendingApprovals: [] })
    await resume(client, run.id)
    await reader.ended
    const texts = reader.events
      .filter(({ type }) => type === "run.message.completed")
      .map((event) => event.payload["text"])
    assert.includeMembers(texts, ["allowed", "later"])
    assert.deepStrictEqual(typesOf(reader), ["run.paused", "run.resumed", "run.completed"])
  })

  it("receives messages that were sent while it was paused", async () => {
    const { client } = edge
    const { reader, run } = await pausedRun(client, "/say ready\n/wait")
    const sent = await client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "a word" } })
    assertRun(sent, { paused: true })
    await resume(client, run.id)
    await reader.message("a word")
    await reader.ended
  })

  it("is cancelled like another run: nothing is left, and its log says that it was resumed", async () => {
    const { client } = edge
    const { reader, run } = await pausedRun(
      client,
      "/ignore-signals\n/children 2\n/daemon\n/say ready\n/hang"
    )
    assert.isAtLeast(edge.survivorsOf(run.id).length, 3)
    assertRun(await client.cancel(run.id), { state: "cancelled" })
    await reader.ended
    assert.deepStrictEqual(edge.survivorsOf(run.id), [])
    assert.deepStrictEqual(typesOf(reader), ["run.paused", "run.resumed", "run.cancelled"])
    const resumed = reader.events.find(({ type }) => type === "run.resumed")
    assert.deepStrictEqual(resumed?.payload, { v: 1, reason: "the run was cancelled" })
    assert.notProperty(await client.run(run.id), "paused")
    assertRefused(await pause(client, run.id), "ended")
    assertRefused(await resume(client, run.id), "ended")
  })

  it("has time to leave by itself when it is cancelled", async () => {
    // The scripted runtime answers a cancel of its protocol, for which it must be thawed. Frozen, it would be killed after the grace.
    const separateEdge = await openEdgeInProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "30000" } })
    const { client } = separateEdge
    const { reader, run } = await pausedRun(client, "/say ready\n/sleep 60000")
    const time = new UncontendedTime()
    await client.cancel(run.id)
    await reader.ended
    assert.isBelow(time.millis, 9_000)
    assert.strictEqual(reader.events.at(-1)?.type, "run.cancelled")
  })

  it("is reviewed after a cancel: the diff has its changes, also of a worktree", async () => {
    const separateEdge = await openEdgeInProcess({ env })
    sampleRepository(separateEdge.workspace)
    const { client } = separateEdge
    for (const more of [{}, { isolation: "worktree" }]) {
      const { reader, run } = await pausedRun(client, "/write new.txt new\n/say ready\n/hang", more)
      await client.cancel(run.id)
      await reader.ended
      const diff = reader.events.find(({ type }) => type === "run.diff.ready")
      assert.deepInclude(diff?.payload, { files: 1, additions: 1 })
    }
  })

  it("ends when its processes are killed from outside", async () => {
    const { client } = edge
    const { reader, run } = await pausedRun(client, "/say ready\n/hang")
    for (const { pid } of edge.survivorsOf(run.id)) process.kill(pid, "SIGKILL")
    await reader.ended
    assert.deepStrictEqual(typesOf(reader), ["run.paused", "run.resumed", "run.failed"])
  })

  it("loses no time: its timeout and its time budget wait for the resume", async () => {
    const { client } = edge
    for (const more of [{ timeoutMs: LIMIT_MS }, { budget: { wallMs: LIMIT_MS } }]) {
      const { reader, run } = await pausedRun(client, "/say ready\n/sleep 60000", more)
      // The clock of a run that starts later is over first.
      const other = await client.create("/sleep 60000", "ask", more)
      assert.strictEqual((await client.log(other.id)).at(-1)?.type, "run.failed")
      assert.deepInclude(await client.run(run.id), { paused: true, state: "running" })
      await resume(client, run.id)
      await reader.ended
      assert.deepInclude(reader.events.at(-1)?.payload["error"], { code: "run_timeout" })
    }
  })

  it("is not silent while it is paused", async () => {
    const silence = { CORRAL_EDGE_SILENCE_MS: "2000", CORRAL_EDGE_SILENCE_NOTICE_MS: "300" }
    const separateEdge = await openEdgeInProcess({ env: { ...env, ...silence } })
    const { client } = separateEdge
    const { reader, run } = await pausedRun(client, "/say ready\n/hang")
    const pausedAt = reader.events.length
    const other = await client.create("/say ready\n/hang")
    assert.include(
      (await client.log(other.id)).map(({ type }) => type),
      "runtime.timeout"
    )
    assert.isTrue((await client.run(run.id)).paused)
    assert.strictEqual(reader.events.slice(pausedAt).length, 0, "no notice")
    await resume(client, run.id)
    await reader.ended
    assert.deepInclude(reader.events.find(({ type }) => type === "runtime.timeout")?.payload, {
      kind: "silence"
    })
  })

  it("ends at its absolute limit, which a pause does not move", async () => {
    const separateEdge = await openEdgeInProcess({ env: { ...env, CORRAL_EDGE_RUN_CAP_MS: "5000" } })
    const { reader, run } = await pausedRun(separateEdge.client, "/children 2\n/say ready\n/hang")
    await reader.ended
    assert.deepStrictEqual(separateEdge.survivorsOf(run.id), [])
    assert.deepStrictEqual(typesOf(reader), ["run.paused", "run.resumed", "run.failed"])
    assert.deepInclude(reader.events.find(({ type }) => type === "runtime.timeout")?.payload, { kind: "cap" })
  })

  it("ends with its Edge", async () => {
    const separateEdge = await openEdgeInProcess({ env })
    const { run } = await pausedRun(separateEdge.client, "/children 2\n/say ready\n/hang")
    await separateEdge.stop()
    assert.deepStrictEqual(separateEdge.survivors(), [])
    await separateEdge.start()
    const ended = await separateEdge.client.run(run.id)
    assert.deepInclude(ended, { state: "cancelled" })
    assert.notProperty(ended, "paused")
  })

  it("cannot be one that waits for a slot", async () => {
    const separateEdge = await openEdgeInProcess({ env: { ...env, CORRAL_EDGE_MAX_RUNS: "1" } })
    const { client } = separateEdge
    const { run } = await pausedRun(client, "/say ready\n/hang")
    const queued = await client.create("/say hi")
    assertRefused(await pause(client, queued.id), "not_started")
    assertRun(await resume(client, queued.id), { state: "created" })
    await client.cancel(run.id)
    assert.strictEqual((await client.log(queued.id)).at(-1)?.type, "run.completed")
  })
})

describe("A pause", () => {
  it("is refused with a reason where there are no control groups", async () => {
    const edge = await openEdgeInProcess({ env: { ...env, CORRAL_EDGE_CONTAINMENT: "environment_mark" } })
    const { client } = edge
    const run = await client.create("/say ready\n/hang")
    const reader = await client.follow({ runId: run.id })
    await reader.message("ready")
    assertRefused(await pause(client, run.id), "no_control_group")
    assert.notProperty(await client.run(run.id), "paused")
    await client.cancel(run.id)
    await reader.ended
    assert.deepStrictEqual(typesOf(reader), ["run.cancelled"])
  })

  it("returns 404 for a run that does not exist", async () => {
    const { client } = await openEdgeInProcess({ env })
    const id = "run_00000000000000000000000000"
    for (const answer of [await pause(client, id), await resume(client, id)])
      assert.deepStrictEqual([answer.status, codeOf(answer)], [404, "not_found"])
  })
})
