/** The whole chain over real processes: a user at the Hub starts a run on a device, follows it, decides, and reads its results. */
import { assert, beforeAll, afterAll, describe, it } from "@effect/vitest"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { Diff } from "@corral/domain/edge-api/Diff"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { FileEntry, FilePreview } from "@corral/domain/device/Workspace"
import { edgeMetrics } from "@corral/edge/EdgeMetrics"
import { hubMetrics } from "@corral/hub/HubMetrics"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { join } from "node:path"
import { FakeCollector } from "@corral/testing/http/FakeCollector"
import { PrometheusText } from "@corral/testing/http/PrometheusText"
import { StreamReader } from "@corral/testing/hub/StreamReader"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { Joined } from "@corral/testing/stack/Joined"

const players = fileURLToPath(new URL("../../../adapters/test/fixtures/bin", import.meta.url))

const METRICS_TOKEN = "a-token-of-more-than-32-characters"

describe("Hub and Edge joined", () => {
  let collector: FakeCollector
  let joined: Joined
  let member: HubClient
  beforeAll(async () => {
    collector = await FakeCollector.open()
    const telemetry = { CORRAL_OTLP_URL: collector.url, CORRAL_METRICS_TOKEN: METRICS_TOKEN }
    joined = await Joined.open({
      hubEnv: telemetry,
      edge: { grants: ["full_access"], env: { ...telemetry, PATH: `${players}:${process.env["PATH"]}` } }
    })
    member = await joined.hub.signedIn("member")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: member.userId, role: "member" }
    })
    assert.strictEqual(added.status, 201, added.text)
  })
  afterAll(async () => {
    await joined.remove()
    await collector.close()
  })

  const pendingOf = async (runId: string): Promise<HubApproval> => {
    await joined.runWith(runId as never, ({ pendingApprovals }) => pendingApprovals.length > 0)
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<HubApproval> }>(
      "GET",
      `/client/runs/${runId}/approvals`
    )
    const pending = body.items.find(({ state }) => state === "pending")
    assert.isDefined(pending)
    return pending
  }

  it("runs a member's task on the device after another member approves it", async () => {
    const { runId, task } = await joined.task(
      { text: "/say before\n/write made.txt hello\n/say after" },
      member
    )
    const reader = await StreamReader.open(joined.owner, `runId=${runId}`)
    const approval = await pendingOf(runId)
    assert.isFalse(existsSync(join(joined.edge.workspace, "made.txt")))
    const decided = await joined.owner.ask<HubApproval>("POST", `/client/approvals/${approval.id}/decide`, {
      body: { decision: "allow", scope: "always" }
    })
    assert.deepInclude(decided.body, { id: approval.id, state: "approved" })
    // Only the user of the device can create a permanent grant.
    assert.notStrictEqual(decided.body.scope, "always")
    assert.deepStrictEqual(await joined.edge.client.grants(), [])
    assert.strictEqual(decided.body.decidedBy, joined.owner.userId)
    assert.deepStrictEqual(await reader.closed(), { code: 1000, reason: "the run has ended" })
    assert.strictEqual(readFileSync(join(joined.edge.workspace, "made.txt"), "utf8"), "hello\n")

    const types = reader.events.map(({ type }) => type)
    assert.strictEqual(types.at(-1), "run.completed")
    assert.deepStrictEqual(
      reader.events.map(({ seq }) => seq),
      types.map((_, at) => at + 1)
    )
    assert.deepStrictEqual(await joined.edge.client.log(runId), reader.events)
    assert.strictEqual((await joined.taskWith(task.id, ({ state }) => state === "completed")).runId, runId)

    const diff = await member.ask<Diff>("GET", `/client/runs/${runId}/diff`)
    assert.deepStrictEqual(
      diff.body.items.map(({ path, status }) => [path, status]),
      [["made.txt", "added"]]
    )
    const audit = await joined.owner.ask<{
      readonly items: ReadonlyArray<{ readonly action: string; readonly actor: string }>
    }>("GET", `/client/audit?projectId=${joined.projectId}&limit=200`)
    const deeds = audit.body.items.map(({ action, actor }) => `${action} ${actor}`)
    assert.include(deeds, `task.create ${member.userId}`)
    assert.include(deeds, `approval.decide ${joined.owner.userId}`)
    const verified = await joined.owner.ask("GET", `/client/audit/verify?projectId=${joined.projectId}`)
    assert.deepInclude(verified.body as object, { ok: true })
  })

  it("runs a recorded Claude Code the same way", async () => {
    writeFileSync(join(joined.edge.workspace, "README.md"), "# Demo\n\nHello world\n")
    const { runId } = await joined.task({ agentId: "claude-code", text: "Please do the task." })
    const run = await joined.runWith(
      runId,
      ({ pendingApprovals, state }) => pendingApprovals.length > 0 || state === "completed"
    )
    if (run.pendingApprovals.length > 0) {
      const { id } = await pendingOf(runId)
      const decided = await member.ask("POST", `/client/approvals/${id}/decide`, {
        body: { decision: "allow" }
      })
      assert.strictEqual(decided.status, 200, decided.text)
    }
    assert.strictEqual((await joined.runWith(runId, ({ state }) => state === "completed")).state, "completed")
  })

  it("cancels the run on the device when it is cancelled at the Hub", async () => {
    const { runId } = await joined.task({ text: "/write never.txt x" })
    await pendingOf(runId)
    const cancelled = await member.ask("POST", `/client/runs/${runId}/cancel`)
    assert.deepInclude(cancelled.body as object, { id: runId, state: "cancelled" })
    assert.strictEqual((await joined.edge.client.run(runId)).state, "cancelled")
    assert.deepStrictEqual(joined.edge.survivorsOf(runId), [])
  })

  it("sends a message to the run once per idempotency key", async () => {
    const { runId } = await joined.task({ text: "/wait\n/wait" })
    await joined.runWith(runId, ({ state }) => state === "running")
    const send = (key: string, text: string) =>
      member.ask<{ readonly id: string }>("POST", `/client/runs/${runId}/input`, {
        body: { text },
        headers: { "idempotency-key": key }
      })
    const first = await send("first", "one")
    assert.deepStrictEqual([first.status, first.body.id], [200, runId], first.text)
    const again = await send("first", "one")
    assert.deepStrictEqual([again.status, again.headers.get("idempotency-replayed")], [200, "true"])
    assert.strictEqual((await send("second", "two")).status, 200)
    await joined.runWith(runId, ({ state }) => state === "completed")
    const response = (await joined.edge.client.log(runId)).flatMap(({ payload, type }) =>
      type === "run.message.completed" && payload["role"] === "user" ? [payload["text"]] : []
    )
    assert.deepStrictEqual(response, ["one", "two"])
    const late = await send("third", "three")
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "conflict"])
  })

  it("returns workspace files and artifacts byte for byte", async () => {
    writeFileSync(join(joined.edge.workspace, "shown.txt"), "shown here\n")
    const workspace = `/client/targets/${joined.deviceId}/workspaces/ws`
    const inProject = `projectId=${joined.projectId}`
    const folder = await member.ask<{ readonly items: ReadonlyArray<FileEntry> }>(
      "GET",
      `${workspace}/files?${inProject}`
    )
    assert.include(
      folder.body.items.map(({ name }) => name),
      "shown.txt"
    )
    const file = await member.ask<FilePreview>("GET", `${workspace}/file?${inProject}&path=shown.txt`)
    assert.deepInclude(file.body, { content: "shown here\n", encoding: "utf8" })
    const outside = await member.ask("GET", `${workspace}/file?${inProject}&path=..%2F..%2Fetc%2Fpasswd`)
    assert.strictEqual(codeOf(outside), "workspace_outside_allowlist")

    const content = "x".repeat(1_500_000)
    writeFileSync(join(joined.edge.workspace, "large.txt"), content)
    const { runId } = await joined.task({
      text: "/attach large.txt text/plain\n/artifact note.md text/markdown # Done"
    })
    await joined.runWith(runId, ({ state }) => state === "completed")
    const { body } = await member.ask<{ readonly items: ReadonlyArray<Artifact> }>(
      "GET",
      `/client/runs/${runId}/artifacts`
    )
    assert.deepStrictEqual(body.items.map(({ name }) => name).toSorted(), ["large.txt", "note.md"])
    const large = body.items.find(({ name }) => name === "large.txt")
    const response = await fetch(`${member.url}/client/runs/${runId}/artifacts/${large?.id}/content`, {
      headers: { authorization: `Bearer ${member.token}` }
    })
    assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
    assert.match(response.headers.get("content-disposition") ?? "", /^attachment/)
    assert.strictEqual(await response.text(), content)
  })

  it("accepts the first of two decisions at the Hub and on the device", async () => {
    const { runId } = await joined.task({ text: "/write both.txt hello" })
    const approval = await pendingOf(runId)
    const answers = await Promise.all([
      member.ask("POST", `/client/approvals/${approval.id}/decide`, { body: { decision: "allow" } }),
      joined.edge.client.decide(runId, approval.id, "deny")
    ])
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
    const run = await joined.runWith(runId, ({ state }) => state === "completed")
    assert.strictEqual(run.state, "completed")
    const resolutions = (await joined.edge.client.log(runId)).filter(
      ({ type }) => type === "run.approval.resolved"
    )
    assert.lengthOf(resolutions, 1)
  })

  const metricsOf = async (url: string): Promise<PrometheusText> => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    const response = await fetch(`${url}/metrics`, { headers })
    assert.strictEqual(response.status, 200)
    return new PrometheusText(await response.text())
  }

  it("counts commands and events on both sides", async () => {
    const { runId } = await joined.task({ text: "/say counted" })
    await joined.runWith(runId, ({ state }) => state === "completed")
    const [hub, edge] = await Promise.all([metricsOf(joined.hub.url), metricsOf(joined.edge.url)])
    hub.assertRows("hub", hubMetrics)
    edge.assertRows("edge", edgeMetrics)
    assert.isAtLeast(edge.sum("corral_edge_runs_ended_total", { outcome: "completed" }), 1)
    const appended = edge.sum("corral_edge_events_appended_total")
    assert.isAtLeast(appended, (await joined.edge.client.log(runId)).length)
    assert.isAtLeast(edge.sum("corral_edge_commit_duration_seconds_count"), 1)
    assert.strictEqual(edge.sum("corral_edge_link_connected"), 1)
    assert.strictEqual(edge.sum("corral_edge_approvals_open"), 0)
    assert.strictEqual(hub.sum("corral_hub_events_mirrored_total"), appended)
    assert.deepStrictEqual(
      ["devices_online", "links_open"].map((name) => hub.sum(`corral_hub_${name}`)),
      [1, 1]
    )
    assert.isAtLeast(hub.sum("corral_hub_commands_total", { command: "StartRun", outcome: "done" }), 1)
    assert.strictEqual(hub.sum("corral_hub_tasks_waiting"), 0)
    assert.isAtLeast(hub.sum("corral_hub_database_connections"), 1)
    const tasks = { method: "POST", route: "/web/agent-tasks", status: "2xx" }
    assert.isAtLeast(hub.sum("corral_hub_http_request_duration_seconds_count", tasks), 1)
    // Neither is opened by the other's key, nor does that key open anything else.
    for (const [url, token] of [
      [`${joined.edge.url}/metrics`, joined.edge.token],
      [`${joined.edge.url}/v1/runs`, METRICS_TOKEN],
      [`${joined.hub.url}/metrics`, joined.owner.token],
      [`${joined.hub.url}/client/tasks`, METRICS_TOKEN]
    ] as const) {
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      assert.strictEqual(response.status, 401, url)
    }
  })

  it("is one trace from the request at the Hub to the runtime, and the last of it is sent at the end", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c"
    const { runId } = await joined.task({
      mode: "full_access",
      text: "/shell echo [$TRACEPARENT]\n/say s3cret-prompt",
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
    })
    await joined.runWith(runId, ({ state }) => state === "completed")
    const response = JSON.stringify(await joined.edge.client.log(runId))
    assert.strictEqual((await joined.edge.stop()).code, 0)
    assert.strictEqual((await joined.hub.end("SIGTERM")).code, 0)
    const chain = collector.spans.filter((span) => span.traceId === traceId)
    const bySpan = new Map(chain.map((span) => [span.spanId, span]))
    const last = chain.find(({ name }) => name === "run")?.spanId
    const names: Array<string> = []
    // From the end: the Hub may send a start twice, and the Edge executes it once.
    let parent = last
    for (let span = bySpan.get(parent ?? ""); span !== undefined; span = bySpan.get(parent ?? "")) {
      names.unshift(`${span.service} ${span.name}`)
      parent = span.parentSpanId
    }
    assert.strictEqual(parent, "b7ad6b7169203331")
    assert.deepStrictEqual(names, [
      "corral-hub POST /web/agent-tasks",
      "corral-hub command StartRun",
      "corral-edge command StartRun",
      "corral-edge run"
    ])
    assert.include(response, `[00-${traceId}-${last}-01]`)
    assert.deepInclude(chain.find(({ name }) => name === "run")?.attributes, {
      "corral.run.id": runId,
      "corral.run.mode": "full_access",
      "corral.run.outcome": "completed"
    })
    for (const name of [
      ...Object.values(edgeMetrics).map((row) => `corral_edge_${row.name}`),
      "corral_hub_devices_online"
    ])
      assert.include([...collector.metrics], name)
    for (const secret of [
      "s3cret",
      joined.edge.token,
      String(joined.owner.token),
      METRICS_TOKEN,
      joined.edge.workspace
    ])
      assert.notInclude(collector.text, secret)
  })
})
