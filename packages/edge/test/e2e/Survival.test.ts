/** Runs that outlive their Edge: it is killed or stopped while they are under way, and the next one continues them. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { type EdgeOptions, EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { EventReader } from "@corral/testing/edge/EdgeClient"
import { until } from "@corral/testing/time/Until"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { holdersOf } from "../holder/HolderHome.ts"
import { assertWhole } from "../harness/LogInvariants.ts"

const SURVIVING = { CORRAL_EDGE_ORPHAN_MS: "60000", CORRAL_EDGE_CANCEL_GRACE_MS: "500" }

const open = async ({ env, ...options }: EdgeOptions = {}): Promise<EdgeProcess> => {
  const edge = new EdgeProcess({ ...options, env: { ...SURVIVING, ...env } })
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}

const textOf = (reader: EventReader): string =>
  reader.events
    .flatMap(({ payload, type }) => (type === "run.message.delta" ? [String(payload["text"])] : []))
    .join("")

/** Kills the Edge, or stops it in order, and starts the next one. */
const restart = async (edge: EdgeProcess, how: "SIGKILL" | "SIGTERM"): Promise<void> => {
  if (how === "SIGKILL") await edge.kill()
  else await edge.stop()
  await edge.start()
}

describe.each(["SIGKILL", "SIGTERM"] as const)("a run whose Edge ends by %s", (how) => {
  it("continues to stream, with each event once", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/stream 3000 1000 40")
    const before = await edge.client.follow({ runId: id })
    await before.count(300)
    await restart(edge, how)
    const after = await edge.client.follow({ runId: id })
    assert.strictEqual((await after.ended).code, 1000)
    assertWhole(after.events)
    assert.deepStrictEqual(after.frames.slice(0, before.frames.length), before.frames)
    assert.strictEqual((await edge.client.run(id)).state, "completed")
    assert.strictEqual(after.events.filter(({ type }) => type === "run.message.delta").length, 3000)
    assert.strictEqual(textOf(after).length, 3000 * 40)
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("keeps its approvals open, and receives the decision", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/say one\n/ask\n/say two\n/ask\n/wait\n/say three")
    const before = await edge.client.follow({ runId: id })
    const first = await before.event("run.approval.requested")
    await restart(edge, how)
    const approvalId = String(first.payload["approvalId"])
    assert.strictEqual((await edge.client.approval(approvalId)).state, "pending")
    await edge.client.decide(id, approvalId, "allow")
    const after = await edge.client.follow({ runId: id })
    const second = await after.event(
      ({ payload, type }) => type === "run.approval.requested" && payload["approvalId"] !== approvalId
    )
    await edge.client.decide(id, String(second.payload["approvalId"]), "allow")
    await restart(edge, how)
    // An input is logged when it comes: what the program prints before it comes first.
    const waiting = await edge.client.follow({ runId: id })
    const allowed = () =>
      waiting.events.filter(
        ({ payload, type }) => type === "run.message.completed" && payload["text"] === "allowed"
      )
    await waiting.event(() => allowed().length === 2)
    await edge.client.ask("POST", `/v1/runs/${id}/input`, { body: { text: "and more" } })
    await restart(edge, how)
    const last = await edge.client.follow({ runId: id })
    assert.strictEqual((await last.ended).code, 1000)
    assertWhole(last.events)
    const texts = last.events.flatMap(({ payload, type }) =>
      type === "run.message.completed" ? [payload["text"]] : []
    )
    assert.deepStrictEqual(texts, ["one", "allowed", "two", "allowed", "and more", "and more", "three"])
    assert.strictEqual((await edge.client.run(id)).state, "completed")
  })
})

describe("runs of an Edge that is gone", () => {
  it("are cancelled by the next one", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/children 2\n/say there\n/hang")
    await (await edge.client.follow({ runId: id })).message("there")
    await edge.kill()
    assert.isNotEmpty(edge.survivors())
    await edge.start()
    assert.strictEqual((await edge.client.cancel(id)).status, 200)
    assert.strictEqual((await edge.client.run(id)).state, "cancelled")
    assert.deepStrictEqual(edge.survivors(), [])
  })

  it("do not ask again what a user has allowed for the run", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/shell echo same\n/wait\n/shell echo same\n/say over")
    const before = await edge.client.follow({ runId: id })
    const { payload } = await before.event("run.approval.requested")
    await edge.client.decide(id, String(payload["approvalId"]), "allow", { scope: "run" })
    await before.event("run.tool.result")
    await edge.kill()
    await edge.start()
    await edge.client.ask("POST", `/v1/runs/${id}/input`, { body: { text: "go on" } })
    const after = await edge.client.follow({ runId: id })
    assert.strictEqual((await after.ended).code, 1000)
    assertWhole(after.events)
    const resolved = after.events.filter(({ type }) => type === "run.approval.resolved")
    assert.deepStrictEqual(
      resolved.map(({ payload }) => payload["by"]),
      ["local", `policy:remembered:${String(payload["approvalId"])}`]
    )
  })

  it("complete meanwhile, and are shown as completed", async () => {
    const edge = await open({ grants: ["full_access"] })
    const { id } = await edge.client.create(
      "/say before\n/shell while [ ! -e go ]; do sleep 0.05; done\n/say after",
      "full_access"
    )
    await (await edge.client.follow({ runId: id })).message("before")
    await edge.kill()
    writeFileSync(join(edge.workspace, "go"), "")
    const output = join(edge.home, "held", `${id}.out`)
    await until(
      async () => (readFileSync(output, "utf8").includes('"done"') ? true : undefined),
      "the program's last line"
    )
    await edge.start()
    const reader = await edge.client.follow({ runId: id })
    assert.strictEqual((await reader.ended).code, 1000)
    assertWhole(reader.events)
    assert.strictEqual((await edge.client.run(id)).state, "completed")
    assert.include(
      reader.events.map(({ payload }) => payload["text"]),
      "after"
    )
  })

  it.skipIf(groupsHere === undefined)("stay paused, and continue when they are resumed", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/stream 1200 200 40\n/say over")
    await (await edge.client.follow({ runId: id })).count(50)
    assert.strictEqual((await edge.client.ask("POST", `/v1/runs/${id}/pause`, { body: {} })).status, 200)
    await restart(edge, "SIGKILL")
    // Another run is the clock: at its end, what the program had printed before the pause is stored.
    await edge.client.log((await edge.client.create("/say meanwhile")).id)
    const run = await edge.client.run(id)
    assert.deepInclude(run, { state: "running", paused: true })
    const { lastSeq } = run
    await restart(edge, "SIGTERM")
    assert.strictEqual((await edge.client.run(id)).lastSeq, lastSeq)
    assert.strictEqual((await edge.client.ask("POST", `/v1/runs/${id}/resume`, { body: {} })).status, 200)
    const reader = await edge.client.follow({ runId: id })
    assert.strictEqual((await reader.ended).code, 1000)
    assertWhole(reader.events)
    assert.strictEqual(reader.events.filter(({ type }) => type === "run.message.delta").length >= 1200, true)
    assert.strictEqual((await edge.client.run(id)).state, "completed")
  })
})

describe("a run whose holder is killed", () => {
  it("fails with that reason, and not as a crash of its program", async () => {
    const edge = await open()
    const { id } = await edge.client.create("/say one\n/wait")
    const reader = await edge.client.follow({ runId: id })
    await reader.event("run.message.completed")
    for (const pid of holdersOf(edge.home)) process.kill(pid, "SIGKILL")
    await reader.ended
    const failure = reader.events.find(({ type }) => type === "run.failed")?.payload["error"]
    assert.deepInclude(failure, { code: "runtime_unavailable", details: { reason: "holder_lost" } })
    assertWhole(reader.events)
    assert.deepStrictEqual(edge.survivors(), [])
  })
})
