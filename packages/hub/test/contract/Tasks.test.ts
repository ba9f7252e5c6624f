import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { DeviceId, ProjectId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { CreateTask, Task } from "@corral/domain/task/Task"
import { until } from "@corral/testing/time/Until"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createdRun, createRun, Mirror, newId, startMirror } from "@corral/testing/hub/Mirror"

interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

describe("Tasks", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let mirror: Mirror
  let project: ProjectId
  let target: DeviceId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
    bob = await hub.signedIn("bob")
    target = await mirror.device(ada.userId, project)
  })
  afterAll(() => hub.remove())

  const task = (change: Partial<CreateTask> = {}): CreateTask => ({
    ...createRun,
    projectId: project,
    targetId: target,
    onOffline: "queue",
    ...change
  })
  const make = (client: HubClient, body: unknown, key?: string) =>
    client.ask<Task>("POST", "/web/agent-tasks", {
      body,
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } })
    })
  const tasks = async () => (await ada.ask<Page<Task>>("GET", "/client/tasks?limit=200")).body.items
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

  it("waits for a target that is offline, until expiresAt", async () => {
    const expiresAt = inHours(1)
    const { body, headers, status } = await make(ada, task({ expiresAt }))
    assert.strictEqual(status, 201)
    assert.strictEqual(headers.get("location"), `/client/tasks/${body.id}`)
    const { createdAt, id, updatedAt, ...rest } = body
    assert.strictEqual(createdAt, updatedAt)
    assert.deepStrictEqual(rest, {
      ...createRun,
      projectId: project,
      targetId: target,
      state: "queued",
      onOffline: "queue",
      expiresAt,
      createdBy: ada.userId as UserId
    })
    assert.deepStrictEqual((await ada.ask("GET", `/client/tasks/${id}`)).body, body)
  })

  it("is refused without a trace if it may not wait", async () => {
    const before = await tasks()
    for (const body of [task({ onOffline: "fail" }), { ...task(), onOffline: undefined }]) {
      const refused = await make(ada, body)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [503, "target_offline"])
      assert.deepInclude<object>(refused.body, {
        details: { targetId: target, lastSeenAt: "2026-11-21T12:00:00.000Z" }
      })
    }
    assert.deepStrictEqual(await tasks(), before)
  })

  it("goes to its target, which must belong to the caller or be shared with the project", async () => {
    const other = await mirror.project(ada.userId)
    await mirror.member(ada.userId, other, bob.userId, "member")
    await mirror.member(ada.userId, project, bob.userId, "member")
    await mirror.link(project)
    assert.strictEqual((await make(bob, task())).status, 201)
    for (const body of [task({ projectId: other }), task({ targetId: newId("dev") })]) {
      const refused = await make(bob, body)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "unauthorized_target"])
    }
    assert.strictEqual((await make(ada, task({ projectId: other }))).status, 201)
  })

  it("requires a linked workspace on a shared target, and accepts any on an own target", async () => {
    const ownProject = await mirror.project(ada.userId)
    const mia = await hub.signedIn("mia")
    await mirror.member(ada.userId, ownProject, mia.userId, "member")
    const there = new Mirror(hub)
    await there.device(ada.userId, ownProject, project)
    // What is linked to another project, or of another target, is not linked to this one.
    await there.link(project, "demo")
    await mirror.link(ownProject, "demo")
    await there.link(ownProject, "site")
    const named = (workspace: string) =>
      task({
        projectId: ownProject,
        targetId: there.targetId,
        workspace: workspace as CreateTask["workspace"]
      })
    for (const workspace of ["demo", "Site", "site/", "%"]) {
      const refused = await make(mia, named(workspace))
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "workspace_outside_allowlist"])
      assert.strictEqual((await make(ada, named(workspace))).status, 201)
    }
    assert.strictEqual((await make(mia, named("site"))).status, 201)
    const trail = await ada.ask<Page<AuditRecord>>(
      "GET",
      `/client/audit?projectId=${ownProject}&actor=${mia.userId}`
    )
    assert.deepStrictEqual(
      [...new Set(trail.body.items.map(({ code, outcome }) => `${outcome} ${code}`))],
      ["allowed null", "denied workspace_outside_allowlist"]
    )
  })

  it("is created by members only, with the same answer for missing projects", async () => {
    const vera = await hub.signedIn("vera")
    await mirror.member(ada.userId, project, vera.userId, "viewer")
    const eve = await hub.signedIn("eve")
    for (const [client, projectId] of [
      [vera, project],
      [eve, project],
      [eve, newId<ProjectId>("prj")]
    ] as const) {
      const refused = await make(client, task({ projectId }))
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    }
    const mine = (await tasks()).find(({ projectId }) => projectId === project)
    const read = await vera.ask("GET", `/client/tasks/${mine?.id}`)
    assert.strictEqual(read.status, 200)
    for (const id of [mine?.id, newId<TaskId>("tsk")]) {
      for (const [method, path] of [
        ["GET", ""],
        ["POST", "/cancel"]
      ] as const) {
        const refused = await eve.ask(method, `/client/tasks/${id}${path}`)
        assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
      }
    }
  })

  it("refers to sessions and runs of its project only", async () => {
    const session = await mirror.session(project)
    const withSession = await make(ada, task({ sessionId: session }))
    assert.deepStrictEqual([withSession.status, withSession.body.sessionId], [201, session])
    const list = await ada.ask<Page<Task>>("GET", `/client/tasks?sessionId=${session}`)
    assert.deepStrictEqual(
      list.body.items.map(({ id }) => id),
      [withSession.body.id]
    )
    const foreign = await mirror.project(bob.userId)
    const theirs = await mirror.session(foreign)
    const resume = await mirror.run(foreign, createdRun)
    for (const change of [{ sessionId: theirs }, { sessionId: newId<typeof theirs>("ses") }, { resume }]) {
      const refused = await make(ada, task(change))
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    }
    const elsewhere = await new Mirror(hub).run(project, createdRun)
    const refused = await make(ada, task({ resume: elsewhere }))
    assert.strictEqual(codeOf(refused), "schema_validation_failed")
  })

  it("returns the same response for the same key", async () => {
    const before = (await tasks()).length
    const first = await make(ada, task(), "key-1")
    const again = await make(ada, task(), "key-1")
    assert.deepStrictEqual([again.status, again.body], [201, first.body])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    const other = await make(ada, task({ agentId: "codex" as CreateTask["agentId"] }), "key-1")
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "idempotency_conflict"])
    const answers = await Promise.all(Array.from({ length: 8 }, () => make(ada, task(), "key-2")))
    for (const answer of answers) assert.include([201, 409], answer.status)
    assert.strictEqual((await tasks()).length, before + 2)
  })

  it("can be cancelled once while it waits", async () => {
    const { body } = await make(ada, task())
    const cancel = () => ada.ask<Task>("POST", `/client/tasks/${body.id}/cancel`)
    const cancelled = await cancel()
    assert.deepStrictEqual([cancelled.status, cancelled.body.state], [200, "cancelled"])
    assert.deepStrictEqual((await cancel()).body, cancelled.body)
  })

  it("expires without a request", async () => {
    const { body } = await make(ada, task({ expiresAt: inHours(1) }))
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE tasks SET expires_at = ${new Date(Date.now() - 1)} WHERE id = ${body.id}`
      )
    )
    const { state } = await until(async () => {
      const { body: now } = await ada.ask<Task>("GET", `/client/tasks/${body.id}`)
      return now.state === "queued" ? undefined : now
    }, "the end of the wait")
    assert.strictEqual(state, "expired")
    const refused = await ada.ask("POST", `/client/tasks/${body.id}/cancel`)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "run_not_cancellable"])
  })

  it("is listed by state, in pages", async () => {
    const ownProject = await mirror.project(ada.userId)
    const created: Array<TaskId> = []
    for (let i = 0; i < 3; i++) created.unshift((await make(ada, task({ projectId: ownProject }))).body.id)
    const first = await ada.ask<Page<Task>>(
      "GET",
      `/client/tasks?projectId=${ownProject}&limit=2&state=queued`
    )
    const rest = await ada.ask<Page<Task>>(
      "GET",
      `/client/tasks?projectId=${ownProject}&limit=2&state=queued&cursor=${first.body.nextCursor}`
    )
    assert.deepStrictEqual(
      [...first.body.items, ...rest.body.items].map(({ id }) => id),
      created
    )
    assert.isNull(rest.body.nextCursor)
    const none = await ada.ask<Page<Task>>("GET", `/client/tasks?projectId=${ownProject}&state=failed`)
    assert.deepStrictEqual(none.body.items, [])
  })

  it("accepts any text, and rejects invalid fields", async () => {
    const odd = "\u0001 '; DROP TABLE tasks; -- 😀"
    const taken = await make(ada, task({ input: { text: odd }, workspace: odd as CreateTask["workspace"] }))
    assert.deepStrictEqual([taken.status, taken.body.input.text, taken.body.workspace], [201, odd, odd])
    for (const [path, change] of [
      ["expiresAt", { expiresAt: "soon" }],
      ["expiresAt", { expiresAt: inHours(-1) }],
      ["expiresAt", { expiresAt: "+275760-09-13T00:00:00.000Z" }],
      ["expiresAt", { expiresAt: inHours(24 * 31) }],
      ["input.text", { input: { text: "" } }],
      ["input.text", { input: { text: "a\u0000b" } }],
      ["workspace", { workspace: "a\ud800b" }],
      ["mode", { mode: "yolo" }],
      ["projectId", { projectId: "prj_' OR 1=1" }],
      ["targetId", { targetId: 7 }],
      ["workspace", { workspace: "x".repeat(10_000) }]
    ] as const) {
      const refused = await ada.ask("POST", "/web/agent-tasks", { body: { ...task(), ...change } })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"], path)
      assert.include(refused.text, `"path":"${path}"`)
    }
    const large = await make(ada, task({ input: { text: "x".repeat(1_100_000) } }))
    assert.deepStrictEqual([large.status, codeOf(large)], [413, "payload_too_large"])
  })

  it("is audited, including refusals, without its text", async () => {
    const ownProject = await mirror.project(ada.userId)
    const { body } = await make(ada, task({ projectId: ownProject, input: { text: "a secret wish" } }))
    await make(ada, task({ projectId: ownProject, onOffline: "fail" }))
    await ada.ask("POST", `/client/tasks/${body.id}/cancel`)
    const trail = await ada.ask<Page<AuditRecord>>("GET", `/client/audit?projectId=${ownProject}`)
    assert.deepStrictEqual(
      trail.body.items.map(({ action, code, outcome }) => [action, outcome, code]),
      [
        ["run.cancel", "allowed", null],
        ["task.create", "failed", "target_offline"],
        ["task.create", "allowed", null]
      ]
    )
    assert.notInclude(trail.text, "secret wish")
  })
})
