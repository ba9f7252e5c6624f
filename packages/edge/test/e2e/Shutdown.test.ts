/** SIGTERM, a second Edge on the same home, and what a killed one leaves for its successor. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { FakeCollector } from "@corral/testing/http/FakeCollector"
import { until, UncontendedTime } from "@corral/testing/time/Until"

const grace = { CORRAL_EDGE_CANCEL_GRACE_MS: "500" }
const scripts = [
  "/say ready\n/stream 1000000 200 64",
  "/children 2\n/ignore-signals\n/say ready\n/hang",
  "/daemon\n/say ready\n/hang",
  "/say ready\n/ask"
]

/** Live runs of several kinds, each known to have said something. Their streams are closed again. */
const liveRuns = async ({ client }: EdgeProcess): Promise<ReadonlyArray<string>> =>
  Promise.all(
    scripts.map(async (script) => {
      const { id } = await client.create(script)
      const reader = await client.follow({ runId: id })
      await reader.message("ready")
      reader.drop()
      return id
    })
  )

const discovery = (edge: EdgeProcess) => join(edge.home, "edge.json")
const discovered = (edge: EdgeProcess) =>
  JSON.parse(readFileSync(discovery(edge), "utf8")) as Record<string, unknown>

/** After a restart: each run is cancelled by the system. */
const assertCancelled = async (edge: EdgeProcess, runIds: ReadonlyArray<string>) => {
  for (const id of runIds) {
    const log = await edge.client.log(id)
    assertWhole(log)
    assert.strictEqual(log.at(-1)?.type, "run.cancelled")
    assert.strictEqual(log.at(-1)?.payload["by"], "system")
  }
  assert.deepStrictEqual(await edge.client.approvals("state=pending"), [])
}

describe("SIGTERM", () => {
  it("cancels live runs, leaves nothing and exits with 0 within 10 s", async () => {
    const edge = await openEdgeProcess({ env: grace })
    const runIds = await liveRuns(edge)
    const time = new UncontendedTime()
    const exit = await edge.stop()
    assert.deepStrictEqual(exit, { code: 0, signal: null })
    assert.isBelow(time.millis, 10_000)
    assert.deepStrictEqual(edge.survivors(), [])
    assert.isFalse(existsSync(discovery(edge)), "edge.json is removed")
    await edge.start()
    await assertCancelled(edge, runIds)
  })

  it("does so while clients follow and a collector hangs: the Edge does not wait for them", async () => {
    const collector = await FakeCollector.open()
    onTestFinished(() => collector.close())
    collector.behavior = "hang"
    const edge = await openEdgeProcess({ env: { ...grace, CORRAL_OTLP_URL: collector.url } })
    const runIds = await liveRuns(edge)
    const all = await edge.client.follow({})
    const silent = await edge.client.follow({})
    silent.pause()
    const following = await Promise.all(runIds.map((runId) => edge.client.follow({ runId })))
    const time = new UncontendedTime()
    const exit = await edge.stop()
    assert.deepStrictEqual(exit, { code: 0, signal: null })
    assert.isBelow(time.millis, 10_000)
    await until(async () => collector.requests >= 2 || undefined, "spans and metrics")
    assert.strictEqual((await all.ended).code, 1001)
    for (const reader of following) assert.include([1000, 1001], (await reader.ended).code)
    assert.deepStrictEqual(edge.survivors(), [])
    await edge.start()
    await assertCancelled(edge, runIds)
  })

  it("answers requests that are under way with an error object", async () => {
    const edge = await openEdgeProcess({ env: grace })
    const run = await edge.client.create("/ignore-signals\n/say ready\n/hang")
    const reader = await edge.client.follow({ runId: run.id })
    await reader.message("ready")
    reader.drop()
    const waiting = edge.client.result(run.id, 60_000)
    // Served only when the request before it is: on this connection or another, the Edge has it by then.
    await edge.client.run(run.id)
    const [answer] = await Promise.allSettled([waiting, edge.stop()])
    // A connection that is cut is no answer at all; an answer is a whole one, as the client has checked.
    if (answer.status === "fulfilled") assert.include([409, 503], answer.value.status)
    else if (!String(answer.reason).includes("fetch failed")) throw answer.reason
  })
})

describe("edge.json", () => {
  it("names the Edge to its owner alone", async () => {
    const edge = await openEdgeProcess()
    assert.strictEqual(statSync(discovery(edge)).mode & 0o777, 0o600)
    assert.strictEqual(statSync(join(edge.home, "edge.token")).mode & 0o777, 0o600)
    const { instanceId, pid, url } = discovered(edge)
    assert.deepStrictEqual([pid, url], [edge.pid, edge.url])
    const health = await edge.client.ask("GET", "/health", { token: null })
    assert.deepStrictEqual(health.body, { status: "ok", instanceId })
    assert.notInclude(readFileSync(discovery(edge), "utf8"), edge.token)
  })

  it("of a killed Edge is replaced by its successor's", async () => {
    const edge = await openEdgeProcess()
    const before = discovered(edge)
    await edge.kill()
    assert.deepStrictEqual(discovered(edge), before, "a killed Edge removes nothing")
    await edge.start()
    const after = discovered(edge)
    assert.deepStrictEqual([after["pid"], after["url"]], [edge.pid, edge.url])
    assert.notStrictEqual(after["instanceId"], before["instanceId"])
  })
})

describe("A second Edge on the same home", () => {
  it("is refused in one sentence, and the first keeps running", async () => {
    const edge = await openEdgeProcess()
    const run = await edge.client.create("/say ready\n/sleep 60000")
    const reader = await edge.client.follow({ runId: run.id })
    await reader.message("ready")
    const before = discovered(edge)
    const second = await edge.startSecond()
    assert.strictEqual(second.code, 1)
    assert.match(second.stderr, /^[^\n]+ is in use by another Edge\. Stop it, or choose another home\.\n$/)
    assert.deepStrictEqual(discovered(edge), before)
    assert.strictEqual((await edge.client.run(run.id)).state, "running")
  })
})
