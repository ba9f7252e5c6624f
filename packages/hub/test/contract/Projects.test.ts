/** `/client/projects` over a real Hub: permissions of each role, without leaks. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { Project, ProjectMember, WorkspaceLink } from "@corral/domain/project/Project"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { heardWhile } from "../harness/Notices.ts"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { type ListPage, walk } from "../harness/Pages.ts"
import { makeProject, makeSession } from "@corral/testing/hub/People"

const nowhere = "prj_01K0000000000000000000000Z"

describe("/client/projects", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let eve: HubClient
  let max: HubClient

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
    eve = await hub.signedIn("eve")
    max = await hub.signedIn("max")
  })
  afterAll(() => hub.remove())

  const makeSessions = (projectId: string) =>
    ada.ask("POST", "/client/sessions", { body: { projectId, title: "late" } })

  it("creates a project owned by the signed-in user", async () => {
    const created = await ada.ask<Project>("POST", "/client/projects", {
      body: { name: "Ätlas 🚀 '; DROP TABLE projects; --", description: "about" }
    })
    assert.strictEqual(created.status, 201)
    assert.deepInclude(created.body, { description: "about", visibility: "private", role: "owner" })
    const read = await ada.ask<Project>("GET", `/client/projects/${created.body.id}`)
    assert.deepStrictEqual([read.status, read.body], [200, created.body])
    const members = await walk<ProjectMember>(ada, `/client/projects/${created.body.id}/members`)
    assert.deepEqual<unknown>(members, [
      { userId: ada.userId, name: "ada", role: "owner", addedAt: created.body.createdAt }
    ])
  })

  it("adds a member by a verified address, and reveals no owner of another address", async () => {
    const { id } = await makeProject(ada, "private", [[bob, "member"]])
    const iris = await hub.people.signIn("iris", "web", "Iris.Lund@example.com")
    await hub.people.signIn("twin 1", "web", "twin@example.com")
    await hub.people.signIn("twin 2", "web", "Twin@example.com")
    const add = (client: HubClient, body: unknown) =>
      client.ask<ProjectMember>("POST", `/client/projects/${id}/members`, { body })
    const textOf = async (email: string) => {
      const answer = await add(ada, { email, role: "member" })
      return [answer.status, codeOf(answer), (answer.body as { readonly message?: string }).message]
    }
    const unknown = await textOf("unknown@example.com")
    assert.deepStrictEqual(unknown.slice(0, 2), [409, "conflict"])
    for (const email of ["twin@example.com", "iris.lund@example", "%@example.com", "Iris"])
      assert.deepStrictEqual(await textOf(email), unknown, email)
    for (const client of [bob, eve]) {
      const answers = [
        await add(client, { email: "iris.lund@example.com", role: "viewer" }),
        await add(client, { email: "unknown@example.com", role: "viewer" })
      ]
      for (const answer of answers)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
    }
    const created = await add(ada, { email: "iris.lund@EXAMPLE.com", role: "viewer" })
    assert.deepStrictEqual(
      [created.status, created.body.userId, created.body.name],
      [201, iris.userId, "iris"]
    )
    for (const body of [
      { role: "viewer" },
      { email: "a@example.com", userId: bob.userId, role: "viewer" },
      { email: "", role: "viewer" }
    ])
      assert.strictEqual(codeOf(await add(ada, body)), "schema_validation_failed")
    const trail = await walk<AuditRecord>(ada, `/client/audit?projectId=${id}&action=member.manage`)
    assert.include(
      trail.map(({ outcome, resource }) => `${outcome} ${resource}`),
      `allowed ${iris.userId}`
    )
    assert.notInclude(JSON.stringify(trail), "@")
  })

  it("requires a sign-in", async () => {
    for (const [method, path, body] of [
      ["GET", "/client/projects", undefined],
      ["POST", "/client/projects", { name: "x" }],
      ["GET", `/client/projects/${nowhere}`, undefined],
      ["PATCH", `/client/projects/${nowhere}`, {}],
      ["DELETE", `/client/projects/${nowhere}`, undefined]
    ] as const) {
      const answer = await hub.client.ask(method, path, { body })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [401, "unauthorized"], path)
    }
  })

  it.each([
    ["no name", {}],
    ["an empty name", { name: "" }],
    ["a name that is none", { name: 7 }],
    ["a long name", { name: "x".repeat(10_000) }],
    ["U+0000", { name: "a\0b" }],
    ["U+0000 in the description", { name: "a", description: "\0" }],
    ["half of a surrogate pair", { name: "\ud800" }],
    ["an unknown visibility", { name: "a", visibility: "public" }],
    ["no JSON", "{"]
  ])("refuses %s", async (_, body) => {
    const answer = await ada.ask("POST", "/client/projects", { body })
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
  })

  it("rejects a body over 1 MiB, and ignores unknown fields", async () => {
    const large = await ada.ask("POST", "/client/projects", { body: { name: "x".repeat(1_048_577) } })
    assert.deepStrictEqual([large.status, codeOf(large)], [413, "payload_too_large"])
    const created = await ada.ask<Project>("POST", "/client/projects", {
      body: { name: "Known", role: "viewer", id: nowhere }
    })
    assert.strictEqual(created.status, 201)
    assert.strictEqual(created.body.role, "owner")
    assert.notStrictEqual(created.body.id as string, nowhere)
  })

  it("returns the same response for the same key, and creates one project for concurrent requests", async () => {
    const ask = (body: unknown, key = "first") =>
      ada.ask<Project>("POST", "/client/projects", { body, headers: { "idempotency-key": key } })
    const created = await ask({ name: "Keyed" })
    const again = await ask({ name: "Keyed" })
    assert.deepStrictEqual([again.status, again.body], [201, created.body])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(codeOf(await ask({ name: "Other" })), "idempotency_conflict")
    const ownProject = await bob.ask<Project>("POST", "/client/projects", {
      body: { name: "Keyed" },
      headers: { "idempotency-key": "first" }
    })
    assert.notStrictEqual(ownProject.body.id, created.body.id)

    const answers = await Promise.all(Array.from({ length: 8 }, () => ask({ name: "Parallel" }, "second")))
    const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.id)
    assert.isNotEmpty(ids)
    assert.strictEqual(new Set(ids).size, 1)
    for (const answer of answers.filter(({ status }) => status !== 201))
      assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "idempotency_in_flight"])
  })

  it("gives the same answer for missing projects and projects of others", async () => {
    const { id } = await makeProject(ada)
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PATCH", "", { name: "mine" }],
      ["DELETE", "", undefined],
      ["GET", "/members", undefined],
      ["POST", "/members", { userId: eve.userId, role: "viewer" }],
      ["PATCH", `/members/${ada.userId}`, { role: "viewer" }],
      ["DELETE", `/members/${ada.userId}`, undefined],
      ["GET", "/workspaces", undefined],
      ["POST", "/workspaces", { targetId: "dev_01K0000000000000000000000Z", workspace: "site" }],
      ["DELETE", "/workspaces/dev_01K0000000000000000000000Z/site", undefined]
    ] as const) {
      const seen = async (project: string) => {
        const answer = await eve.ask(method, `/client/projects/${project}${path}`, { body })
        return [answer.status, codeOf(answer), { ...(answer.body as object), requestId: "" }] as const
      }
      const foreign = await seen(id)
      assert.deepStrictEqual(foreign.slice(0, 2), [403, "permission_denied"], `${method} ${path}`)
      assert.deepStrictEqual(foreign, await seen(nowhere), `${method} ${path}`)
    }
    assert.notInclude(
      (await walk<Project>(eve, "/client/projects", 200)).map((project) => project.id),
      id
    )
  })

  it("lets everyone read internal projects, and only members write", async () => {
    const project = await makeProject(ada, "internal")
    const path = `/client/projects/${project.id}`
    const read = await eve.ask<Project>("GET", path)
    assert.deepStrictEqual([read.status, read.body.role], [200, "viewer"])
    assert.include(
      (await walk<Project>(eve, "/client/projects", 200)).map(({ id }) => id),
      project.id
    )
    assert.strictEqual(codeOf(await eve.ask("PATCH", path, { body: { name: "x" } })), "permission_denied")
    const session = await eve.ask("POST", "/client/sessions", { body: { projectId: project.id, title: "x" } })
    assert.deepStrictEqual([session.status, codeOf(session)], [403, "permission_denied"])
    const closed = await ada.ask<Project>("PATCH", path, { body: { visibility: "private" } })
    assert.strictEqual(closed.body.visibility, "private")
    assert.strictEqual(codeOf(await eve.ask("GET", path)), "permission_denied")
  })

  it("allows each role its actions", async () => {
    const project = await makeProject(ada, "private", [
      [bob, "admin"],
      [max, "member"],
      [eve, "viewer"]
    ])
    const path = `/client/projects/${project.id}`
    for (const [client, allowed] of [
      [eve, 403],
      [max, 403],
      [bob, 200]
    ] as const) {
      assert.strictEqual((await client.ask("GET", path)).status, 200)
      assert.strictEqual((await client.ask("PATCH", path, { body: { description: "new" } })).status, allowed)
    }
    const before = await ada.ask<Project>("GET", path)
    assert.strictEqual(before.body.description, "new")
    assert.strictEqual(codeOf(await bob.ask("DELETE", path)), "permission_denied")
    // Members cannot grant or revoke roles above their own.
    const up = await bob.ask("PATCH", `${path}/members/${bob.userId}`, { body: { role: "owner" } })
    assert.strictEqual(codeOf(up), "permission_denied")
    const down = await bob.ask("PATCH", `${path}/members/${ada.userId}`, { body: { role: "viewer" } })
    assert.strictEqual(codeOf(down), "permission_denied")
    assert.strictEqual(codeOf(await bob.ask("DELETE", `${path}/members/${ada.userId}`)), "permission_denied")
  })

  it("adds, changes and removes members, and keeps an owner", async () => {
    const project = await makeProject(ada)
    const path = `/client/projects/${project.id}/members`
    const added = await ada.ask<ProjectMember>("POST", path, { body: { userId: bob.userId, role: "member" } })
    assert.deepStrictEqual([added.status, added.body.role, added.body.name], [201, "member", "bob"])
    const twice = await ada.ask("POST", path, { body: { userId: bob.userId, role: "admin" } })
    assert.deepStrictEqual([twice.status, codeOf(twice)], [409, "conflict"])
    const missing = await ada.ask("POST", path, {
      body: { userId: "usr_01K0000000000000000000000Z", role: "admin" }
    })
    assert.deepStrictEqual([missing.status, codeOf(missing)], [409, "conflict"])
    const wrong = await ada.ask("POST", path, { body: { userId: "bob", role: "chief" } })
    assert.strictEqual(codeOf(wrong), "schema_validation_failed")

    const role = await ada.ask<ProjectMember>("PATCH", `${path}/${bob.userId}`, { body: { role: "viewer" } })
    assert.deepStrictEqual([role.status, role.body.role], [200, "viewer"])
    assert.strictEqual(
      codeOf(await ada.ask("PATCH", `${path}/${max.userId}`, { body: { role: "viewer" } })),
      "conflict"
    )
    for (const leave of [
      () => ada.ask("PATCH", `${path}/${ada.userId}`, { body: { role: "admin" } }),
      () => ada.ask("DELETE", `${path}/${ada.userId}`)
    ])
      assert.strictEqual(codeOf(await leave()), "conflict")
    assert.strictEqual((await ada.ask("DELETE", `${path}/${bob.userId}`)).status, 204)
    assert.strictEqual((await ada.ask("DELETE", `${path}/${bob.userId}`)).status, 204)
    assert.strictEqual(codeOf(await bob.ask("GET", `/client/projects/${project.id}`)), "permission_denied")
  })

  it("keeps one of two owners who remove each other concurrently", async () => {
    const project = await makeProject(ada, "private", [[bob, "owner"]])
    const path = `/client/projects/${project.id}/members`
    await Promise.all([
      ada.ask("DELETE", `${path}/${bob.userId}`),
      bob.ask("DELETE", `${path}/${ada.userId}`)
    ])
    const reads = await Promise.all([ada, bob].map((client) => client.ask("GET", path)))
    assert.strictEqual(reads.filter(({ status }) => status === 200).length, 1)
  })

  it("notifies every Hub of changed permissions", async () => {
    const { id } = await makeProject(ada)
    const path = `/client/projects/${id}`
    const member = `${path}/members/${bob.userId}`
    for (const [method, target, body] of [
      ["POST", `${path}/members`, { userId: bob.userId, role: "member" }],
      ["PATCH", member, { role: "viewer" }],
      ["DELETE", member, undefined],
      ["PATCH", path, { visibility: "internal" }],
      ["DELETE", path, undefined]
    ] as const) {
      const received = await heardWhile(hub, "membership", async () => {
        assert.isBelow((await ada.ask(method, target, { body })).status, 300)
      })
      assert.strictEqual(received, id, `${method} ${target}`)
    }
  })

  it("binds a cursor to its caller", async () => {
    const zoe = await hub.signedIn("zoe")
    const created: Array<string> = []
    for (let i = 0; i < 5; i++) created.unshift((await makeProject(zoe)).id)
    assert.sameMembers(
      (await walk<Project>(zoe, "/client/projects", 2))
        .filter(({ role, visibility }) => role === "owner" && visibility === "private")
        .map(({ id }) => id),
      created
    )
    const first = await zoe.ask<ListPage<Project>>("GET", "/client/projects?limit=2")
    const cursor = first.body.nextCursor ?? ""
    const refused = [
      await eve.ask("GET", `/client/projects?cursor=${cursor}`),
      await zoe.ask("GET", `/client/sessions?cursor=${cursor}`),
      await zoe.ask("GET", `/client/projects?cursor=${cursor.slice(0, -1)}`),
      await zoe.ask("GET", "/client/projects?cursor=%00"),
      await zoe.ask("GET", "/client/projects?limit=0"),
      await zoe.ask("GET", "/client/projects?limit=201")
    ]
    for (const answer of refused)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
  })

  it("links workspaces that a target has reported", async () => {
    const project = await makeProject(ada, "private", [[bob, "admin"]])
    const path = `/client/projects/${project.id}/workspaces`
    const { id: targetId } = await registerDevice(ada)
    await reportOffer(hub, targetId, { workspaces: ["site", "ünï/code", "w3"] })
    const link = (client: HubClient, workspace: string) =>
      client.ask<WorkspaceLink>("POST", path, { body: { targetId, workspace } })

    const created = await link(ada, "site")
    assert.deepStrictEqual([created.status, created.body.addedBy], [201, ada.userId])
    for (const again of [await link(ada, "site"), await link(ada, "elsewhere")])
      assert.deepStrictEqual([again.status, codeOf(again)], [409, "conflict"])
    assert.strictEqual(codeOf(await link(ada, "a\0b")), "schema_validation_failed")
    assert.deepStrictEqual(
      [codeOf(await link(bob, "w3")), codeOf(await link(max, "w3"))],
      ["unauthorized_target", "permission_denied"]
    )
    const absent = await ada.ask("POST", path, {
      body: { targetId: "dev_01K0000000000000000000000Z", workspace: "site" }
    })
    assert.deepStrictEqual([absent.status, codeOf(absent)], [403, "unauthorized_target"])

    assert.strictEqual((await link(ada, "ünï/code")).status, 201)
    assert.strictEqual((await link(ada, "w3")).status, 201)
    assert.deepStrictEqual(
      (await walk<WorkspaceLink>(bob, path)).map(({ workspace }) => workspace as string),
      ["site", "ünï/code", "w3"]
    )
    const linkPath = `${path}/${targetId}/${encodeURIComponent("ünï/code")}`
    assert.strictEqual(codeOf(await max.ask("DELETE", linkPath)), "permission_denied")
    assert.strictEqual((await bob.ask("DELETE", linkPath)).status, 204)
    assert.strictEqual(codeOf(await bob.ask("DELETE", `${path}/${targetId}/%00`)), "schema_validation_failed")
    assert.strictEqual((await walk<WorkspaceLink>(bob, path)).length, 2)
    await ada.ask("DELETE", `/client/devices/${targetId}`)
    assert.deepStrictEqual(await walk(bob, path), [])
  })

  it("deletes its resources and keeps its trail", async () => {
    const project = await makeProject(ada)
    const session = await makeSession(ada, project)
    await ada.ask("POST", `/client/sessions/${session.id}/messages`, { body: { text: "hello" } })
    const device = await registerDevice(ada, { sharedWith: [project.id] })
    assert.strictEqual((await ada.ask("DELETE", `/client/projects/${project.id}`)).status, 204)
    for (const path of [`/client/projects/${project.id}`, `/client/sessions/${session.id}`])
      assert.strictEqual(codeOf(await ada.ask("GET", path)), "permission_denied")
    const left = await ada.ask<{ sharedWith: ReadonlyArray<string> }>("GET", `/client/devices/${device.id}`)
    assert.deepStrictEqual(left.body.sharedWith, [])
    assert.strictEqual(codeOf(await ada.ask("DELETE", `/client/projects/${project.id}`)), "permission_denied")
    // The project is no longer readable over HTTP.
    const actions = await hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(
          sql<{ readonly action: string }>`SELECT action FROM audit WHERE chain = ${project.id} ORDER BY seq`,
          (rows) => rows.map(({ action }) => action)
        )
      )
    )
    assert.deepStrictEqual(actions.at(-1), "project.delete")
    assert.includeMembers(actions, ["project.create", "session.write", "device.manage"])
  })

  it("refuses requests during its deletion with error objects", async () => {
    const device = await registerDevice(ada)
    await reportOffer(hub, device.id)
    for (let i = 0; i < 5; i++) {
      const project = await makeProject(ada)
      const session = await makeSession(ada, project)
      const path = `/client/projects/${project.id}`
      const answers = await Promise.all([
        makeSessions(project.id),
        ada.ask("POST", `/client/sessions/${session.id}/messages`, { body: { text: "late" } }),
        ada.ask("PATCH", `/client/devices/${device.id}`, { body: { sharedWith: [project.id] } }),
        ada.ask("DELETE", path),
        ada.ask("POST", `${path}/members`, { body: { userId: bob.userId, role: "member" } }),
        ada.ask("POST", `${path}/workspaces`, { body: { targetId: device.id, workspace: "site" } }),
        ada.ask("PATCH", path, { body: { name: "late" } }),
        makeSessions(project.id)
      ])
      for (const answer of answers) assert.include([200, 201, 204, 403], answer.status, answer.text)
      assert.strictEqual(codeOf(await ada.ask("GET", path)), "permission_denied")
    }
  })

  it("records allowed and refused actions", async () => {
    const project = await makeProject(ada, "private", [[max, "member"]])
    await max.ask("PATCH", `/client/projects/${project.id}`, { body: { name: "x" } })
    await ada.ask("PATCH", `/client/projects/${project.id}/members/${ada.userId}`, {
      body: { role: "viewer" }
    })
    const records = await walk<AuditRecord>(ada, `/client/audit?projectId=${project.id}`)
    assert.deepStrictEqual(
      records.map(({ action, actor, code, outcome }) => [action, actor, outcome, code]),
      [
        ["member.manage", ada.userId, "failed", "conflict"],
        ["project.update", max.userId, "denied", "permission_denied"],
        ["member.manage", ada.userId, "allowed", null],
        ["project.create", ada.userId, "allowed", null]
      ]
    )
    const verified = await ada.ask("GET", `/client/audit/verify?projectId=${project.id}`)
    assert.deepInclude(verified.body as object, { ok: true, checked: 4 })
    assert.strictEqual(codeOf(await ada.ask("GET", "/client/audit?actor=%00")), "schema_validation_failed")
  })
})
