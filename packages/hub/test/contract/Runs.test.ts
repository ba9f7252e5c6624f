import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, ProjectId, RunId } from "@corral/domain/identity/Ids"
import type { EventPage } from "@corral/domain/edge-api/Runs"
import { draft } from "@corral/domain/run/RunEvent"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  runCompleted,
  createdRun,
  createRun,
  linesOf,
  Mirror,
  newId,
  approvalResolved,
  messageDelta,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"

interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

describe("/client/runs", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
    bob = await hub.signedIn("bob")
    await mirror.device(ada.userId)
  })
  afterAll(() => hub.remove())

  it("returns a run as in its log", async () => {
    const runId = await mirror.run(project, createdRun, runStarted, messageDelta("Hello"), runCompleted)
    const { body, status } = await ada.ask<HubRun>("GET", `/client/runs/${runId}`)
    assert.strictEqual(status, 200)
    const { createdAt, updatedAt, ...run } = body
    assert.isAtMost(Date.parse(createdAt), Date.parse(updatedAt))
    assert.deepStrictEqual(run, {
      ...createRun,
      id: runId,
      projectId: project,
      targetId: mirror.targetId,
      state: "completed",
      timeoutMs: 1_800_000,
      lastSeq: 4,
      pendingApprovals: [],
      pendingInputs: [],
      model: "model-1",
      usage: { inputTokens: 3 },
      resultText: "Done",
      endedAt: new Date(1_760_000_000_004).toISOString()
    })
  })

  it("is queued until the Edge has it, and waiting_approval while an approval is pending", async () => {
    const runId = await mirror.open(project)
    const state = async () => (await ada.ask<HubRun>("GET", `/client/runs/${runId}`)).body
    assert.strictEqual((await state()).state, "queued")
    const [one, two] = [newId<ApprovalId>("apr"), newId<ApprovalId>("apr")]
    await mirror.append(runId, 1, createdRun, runStarted, approvalRequested(one), approvalRequested(two))
    assert.deepInclude(await state(), { state: "waiting_approval", pendingApprovals: [one, two] })
    await mirror.append(runId, 5, approvalResolved(one, "denied"))
    assert.deepInclude(await state(), { state: "waiting_approval", pendingApprovals: [two] })
    await mirror.append(runId, 6, approvalResolved(two, "approved"))
    assert.deepInclude(await state(), { state: "running", pendingApprovals: [] })
    const list = await ada.ask<Page<HubApproval>>("GET", `/client/runs/${runId}/approvals`)
    assert.deepStrictEqual(
      list.body.items.map(({ decidedBy, id, projectId, state }) => ({ id, state, projectId, decidedBy })),
      [
        { id: one, state: "denied", projectId: project, decidedBy: "someone" },
        { id: two, state: "approved", projectId: project, decidedBy: "someone" }
      ]
    )
  })

  it("returns the log in pages, unchanged", async () => {
    const odd = draft("run.message.delta", {
      messageId: "m1",
      channel: "text",
      text: "\u0000 \ud800 \u2028 😀"
    })
    const runId = await mirror.run(project, createdRun, runStarted, odd, messageDelta("b"), runCompleted)
    const pages: Array<unknown> = []
    let next: string | null = "0"
    while (next !== null) {
      const page: { readonly body: EventPage } = await ada.ask<EventPage>(
        "GET",
        `/client/runs/${runId}/events?after=${next}&limit=2`
      )
      pages.push(...page.body.items)
      next = page.body.nextCursor
    }
    const lines = linesOf(runId, 1, [createdRun, runStarted, odd, messageDelta("b"), runCompleted])
    assert.deepStrictEqual(
      pages,
      lines.map((line): unknown => JSON.parse(line))
    )
    const { body } = await ada.ask<EventPage>("GET", `/client/runs/${runId}/events?after=5`)
    assert.deepStrictEqual([body.items, body.nextCursor], [[], null])
    for (const query of [
      "after=6",
      "after=2147483648",
      `after=${Number.MAX_SAFE_INTEGER}`,
      "after=-1",
      "after=x",
      "after=1.5",
      "limit=0",
      "limit=201"
    ]) {
      const refused = await ada.ask("GET", `/client/runs/${runId}/events?${query}`)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"], query)
    }
  })

  it("lists readable runs, newest first, in pages and with filters", async () => {
    const ownProject = await mirror.project(bob.userId)
    const runs: Array<RunId> = []
    for (let i = 0; i < 5; i++)
      runs.unshift(await mirror.run(ownProject, createdRun, ...(i % 2 === 0 ? [runStarted] : [])))
    const walk = async (query: string) => {
      const found: Array<RunId> = []
      let cursor: string | null = ""
      while (cursor !== null) {
        const page: { readonly body: Page<HubRun> } = await bob.ask<Page<HubRun>>(
          "GET",
          `/client/runs?limit=2${query}${cursor === "" ? "" : `&cursor=${cursor}`}`
        )
        found.push(...page.body.items.map(({ id }) => id))
        cursor = page.body.nextCursor
      }
      return found
    }
    assert.deepStrictEqual(await walk(""), runs)
    assert.deepStrictEqual(await walk(`&projectId=${ownProject}`), runs)
    assert.deepStrictEqual(await walk(`&targetId=${mirror.targetId}`), runs)
    assert.deepStrictEqual(
      await walk("&state=running"),
      runs.filter((_, i) => i % 2 === 0)
    )
    assert.deepStrictEqual(await walk("&state=queued"), [])
    assert.deepStrictEqual(await walk(`&sessionId=${newId("ses")}`), [])
    const adas = await ada.ask<Page<HubRun>>("GET", "/client/runs?limit=200")
    assert.isFalse(adas.body.items.some(({ projectId }) => projectId === ownProject))
    const foreign = await ada.ask("GET", `/client/runs?projectId=${ownProject}`)
    assert.deepStrictEqual([foreign.status, codeOf(foreign)], [403, "permission_denied"])
  })

  it("binds a cursor to the filter and the user", async () => {
    const first = await ada.ask<Page<HubRun>>("GET", "/client/runs?limit=1")
    const cursor = first.body.nextCursor
    assert.isNotNull(cursor)
    for (const [client, query] of [
      [ada, "&state=running"],
      [bob, ""]
    ] as const) {
      const refused = await client.ask("GET", `/client/runs?limit=1&cursor=${cursor}${query}`)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    }
  })

  it("gives the same answer for missing and forbidden runs", async () => {
    const runId = await mirror.run(project, createdRun)
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/events"],
      ["GET", "/approvals"],
      ["GET", "/diff"],
      ["GET", "/artifacts"],
      ["GET", `/artifacts/${newId("art")}/content`],
      ["POST", `/previews/${newId("prv")}/open`],
      ["POST", "/cancel"]
    ] as const) {
      const foreign = await bob.ask<object>(method, `/client/runs/${runId}${path}`)
      const missing = await bob.ask<object>(method, `/client/runs/${newId("run")}${path}`)
      assert.deepStrictEqual([foreign.status, codeOf(foreign)], [403, "permission_denied"], path)
      const { requestId: _, ...rest } = foreign.body as { readonly requestId: string }
      const { requestId: __, ...untold } = missing.body as { readonly requestId: string }
      assert.deepStrictEqual(rest, untold)
    }
    const malformed = await bob.ask("GET", "/client/runs/run_%00'--")
    assert.strictEqual(codeOf(malformed), "schema_validation_failed")
    const unsigned = await hub.client.ask("GET", `/client/runs/${runId}`)
    assert.deepStrictEqual([unsigned.status, codeOf(unsigned)], [401, "unauthorized"])
  })

  it("routes cancel, diff, artifacts and previews of members to a shared target that is offline", async () => {
    const shared = new Mirror(hub)
    const runId = await shared.run(project, createdRun, runStarted)
    await shared.device(ada.userId)
    const carol = await hub.signedIn("carol")
    await mirror.member(ada.userId, project, carol.userId, "member")
    for (const [method, path] of [
      ["GET", "/diff"],
      ["GET", "/artifacts"],
      ["GET", `/artifacts/${newId("art")}/content`],
      ["POST", `/previews/${newId("prv")}/open`],
      ["POST", "/cancel"]
    ] as const) {
      const offline = await ada.ask<object>(method, `/client/runs/${runId}${path}`)
      assert.deepStrictEqual([offline.status, codeOf(offline)], [503, "target_offline"], path)
      assert.strictEqual(offline.headers.get("retry-after"), "15")
      assert.deepInclude(offline.body, {
        details: { targetId: shared.targetId, lastSeenAt: "2026-11-21T12:00:00.000Z" }
      })
      const refused = await carol.ask(method, `/client/runs/${runId}${path}`)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "unauthorized_target"], path)
    }
  })

  it("routes further input of members, once under a key, and audits it without its text", async () => {
    const ownProject = await mirror.project(ada.userId)
    const runId = await mirror.run(ownProject, createdRun, runStarted)
    const send = (client: HubClient, id: RunId, body: unknown = { text: "a private wish" }, key?: string) =>
      client.ask("POST", `/client/runs/${id}/input`, {
        body,
        ...(key === undefined ? {} : { headers: { "idempotency-key": key } })
      })
    // What surely did not arrive may be sent again under its key.
    for (let i = 0; i < 2; i++) {
      const offline = await send(ada, runId, undefined, "input-1")
      assert.deepStrictEqual([offline.status, codeOf(offline)], [503, "target_offline"])
    }
    const [vera, mia] = [await hub.signedIn("vera"), await hub.signedIn("mia")]
    await mirror.member(ada.userId, ownProject, vera.userId, "viewer")
    await mirror.member(ada.userId, ownProject, mia.userId, "member")
    assert.strictEqual(codeOf(await send(vera, runId)), "permission_denied")
    assert.strictEqual(codeOf(await send(mia, runId)), "unauthorized_target")
    const over = await mirror.run(ownProject, createdRun, runStarted, runCompleted)
    const late = await send(ada, over)
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "conflict"])
    for (const body of [{}, { text: "" }, { text: "a\u0000b" }, { text: "\ud800" }, { text: 7 }]) {
      const refused = await send(ada, runId, body)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    }
    const trail = await ada.ask<Page<AuditRecord>>(
      "GET",
      `/client/audit?projectId=${ownProject}&action=run.input`
    )
    assert.deepEqual<unknown>(
      trail.body.items.map(({ actor, code, outcome, resource }) => [resource, actor, outcome, code]),
      [
        [over, ada.userId, "failed", "conflict"],
        [runId, mia.userId, "denied", "unauthorized_target"],
        [runId, ada.userId, "failed", "target_offline"],
        [runId, ada.userId, "failed", "target_offline"]
      ]
    )
    assert.notInclude(trail.text, "private wish")
  })

  it("mirrors a pause in the run and in lists, and none of a run that has ended", async () => {
    const paused = draft("run.paused", { by: "usr_x" })
    const runId = await mirror.run(project, createdRun, runStarted, paused)
    const run = async () => (await ada.ask<HubRun>("GET", `/client/runs/${runId}`)).body
    assert.deepInclude(await run(), { state: "running", paused: true })
    const list = await ada.ask<Page<HubRun>>("GET", `/client/runs?projectId=${project}&state=running`)
    assert.isTrue(list.body.items.find(({ id }) => id === runId)?.paused)
    await mirror.append(runId, 4, draft("run.resumed", { by: "usr_x" }))
    assert.notProperty(await run(), "paused")
    await mirror.append(runId, 5, paused, draft("run.resumed", { reason: "the run was cancelled" }))
    await mirror.append(runId, 7, draft("run.cancelled", {}))
    const ended = await run()
    assert.strictEqual(ended.state, "cancelled")
    assert.notProperty(ended, "paused")
  })

  it("pauses and resumes for members who may use the device, and records each request", async () => {
    const ownProject = await mirror.project(ada.userId)
    const runId = await mirror.run(ownProject, createdRun, runStarted)
    const over = await mirror.run(ownProject, createdRun, runStarted, runCompleted)
    const [vera, mia] = [await hub.signedIn("vera"), await hub.signedIn("mia")]
    await mirror.member(ada.userId, ownProject, vera.userId, "viewer")
    await mirror.member(ada.userId, ownProject, mia.userId, "member")
    for (const change of ["pause", "resume"]) {
      const send = async (client: HubClient, id: RunId) => {
        const answer = await client.ask("POST", `/client/runs/${id}/${change}`)
        return [answer.status, codeOf(answer)]
      }
      assert.deepStrictEqual(await send(vera, runId), [403, "permission_denied"])
      assert.deepStrictEqual(await send(mia, runId), [403, "unauthorized_target"])
      assert.deepStrictEqual(await send(bob, runId), [403, "permission_denied"])
      assert.deepStrictEqual(await send(ada, runId), [503, "target_offline"])
      assert.deepStrictEqual(await send(ada, over), [409, "conflict"])
      const { body } = await ada.ask<Page<AuditRecord>>(
        "GET",
        `/client/audit?projectId=${ownProject}&action=run.${change}`
      )
      assert.deepEqual<unknown>(
        body.items.map(({ actor, code, outcome, resource }) => [resource, actor, outcome, code]),
        [
          [over, ada.userId, "failed", "conflict"],
          [runId, ada.userId, "failed", "target_offline"],
          [runId, bob.userId, "denied", "permission_denied"],
          [runId, mia.userId, "denied", "unauthorized_target"],
          [runId, vera.userId, "denied", "permission_denied"]
        ]
      )
    }
    const refused = await ada.ask("POST", `/client/runs/${over}/pause`)
    assert.deepInclude((refused.body as unknown as { readonly details: object }).details, { reason: "ended" })
  })

  it("cancels a cancelled run again, but no ended run, and not for viewers", async () => {
    const cancelled = await mirror.run(project, createdRun, draft("run.cancelled", { by: "x" }))
    const again = await ada.ask<HubRun>("POST", `/client/runs/${cancelled}/cancel`)
    assert.deepStrictEqual([again.status, again.body.state], [200, "cancelled"])
    const done = await mirror.run(project, createdRun, runStarted, runCompleted)
    const refused = await ada.ask("POST", `/client/runs/${done}/cancel`)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "run_not_cancellable"])
    const vera = await hub.signedIn("vera")
    await mirror.member(ada.userId, project, vera.userId, "viewer")
    const viewer = await vera.ask("POST", `/client/runs/${cancelled}/cancel`)
    assert.deepStrictEqual([viewer.status, codeOf(viewer)], [403, "permission_denied"])
    assert.strictEqual((await vera.ask("GET", `/client/runs/${cancelled}`)).status, 200)
  })
})
