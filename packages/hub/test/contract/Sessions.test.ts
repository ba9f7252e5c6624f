/** `/client/sessions` and `/client/agents` over a real Hub. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AgentInstance, AgentProfile } from "@corral/domain/run/AgentProfile"
import type { Message } from "@corral/domain/session/Message"
import type { Project } from "@corral/domain/project/Project"
import type { Session, SessionItem } from "@corral/domain/session/Session"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { type ListPage, walk } from "../harness/Pages.ts"
import { makeProject, makeSession } from "@corral/testing/hub/People"

const nowhere = "ses_01K0000000000000000000000Z"

describe("/client/sessions", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let eve: HubClient
  let project: Project

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
    eve = await hub.signedIn("eve")
    project = await makeProject(ada, "private", [[bob, "viewer"]])
  })
  afterAll(() => hub.remove())

  const send = (client: HubClient, { id }: { readonly id: string }, text = "hello", headers = {}) =>
    client.ask<Message>("POST", `/client/sessions/${id}/messages`, { body: { text }, headers })
  const change = (client: HubClient, { id }: { readonly id: string }, body: object) =>
    client.ask<Session>("PATCH", `/client/sessions/${id}`, { body })

  it("are created in a project, and listed as in the contract", async () => {
    const created = await ada.ask<Session>("POST", "/client/sessions", {
      body: { projectId: project.id, title: "Ünï ' OR 1=1 --" }
    })
    assert.strictEqual(created.status, 201)
    assert.deepInclude(created.body, { state: "active", agents: [], activeRuns: [] })
    assert.strictEqual(created.body.createdBy, ada.userId)
    assert.deepStrictEqual((await bob.ask("GET", `/client/sessions/${created.body.id}`)).body, {
      ...created.body,
      unread: 0
    })
    const list = await bob.ask<ListPage<SessionItem>>("GET", `/client/sessions?projectId=${project.id}`)
    assert.deepStrictEqual(Object.keys(list.body).sort(), ["items", "nextCursor", "requestId"])
    const item = list.body.items.find(({ id }) => id === created.body.id)
    const { id, projectId, state, title, updatedAt } = created.body
    assert.deepStrictEqual(item, { id, projectId, title, state, updatedAt, unread: 0 })
    assert.isNull(list.body.nextCursor)
  })

  it("get the first line of the first message as their title, where they have none", async () => {
    const created = await ada.ask<Session>("POST", "/client/sessions", { body: { projectId: project.id } })
    assert.deepStrictEqual([created.status, created.body.title], [201, "New session"])
    await send(ada, created.body, "\n  Fix the opening hours  \nthen bump the version")
    await send(ada, created.body, "Another message")
    const read = await bob.ask<Session>("GET", `/client/sessions/${created.body.id}`)
    assert.strictEqual(read.body.title, "Fix the opening hours")
  })

  it("require a sign-in", async () => {
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["POST", "", { projectId: project.id, title: "x" }],
      ["GET", `/${nowhere}`, undefined],
      ["PATCH", `/${nowhere}`, {}],
      ["GET", `/${nowhere}/messages`, undefined],
      ["POST", `/${nowhere}/messages`, { text: "x" }],
      ["GET", `/${nowhere}/agents`, undefined]
    ] as const) {
      const answer = await hub.client.ask(method, `/client/sessions${path}`, { body })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [401, "unauthorized"])
    }
    assert.strictEqual(codeOf(await hub.client.ask("GET", "/client/agents")), "unauthorized")
  })

  it("are hidden from callers who may not read them, like missing ones", async () => {
    const session = await makeSession(ada, project)
    const { id: targetId } = await registerDevice(eve)
    await reportOffer(hub, targetId)
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PATCH", "", { title: "mine" }],
      ["GET", "/messages", undefined],
      ["POST", "/messages", { text: "x" }],
      ["GET", "/agents", undefined],
      ["POST", "/agents", { agentId: "scripted", targetId, workspace: "site" }],
      ["DELETE", "/agents?agentInstanceId=agt_01K0000000000000000000000Z", undefined]
    ] as const) {
      const seen = async (id: string) => {
        const answer = await eve.ask(method, `/client/sessions/${id}${path}`, { body })
        return [answer.status, codeOf(answer), { ...(answer.body as object), requestId: "" }]
      }
      const foreign = await seen(session.id)
      assert.deepStrictEqual(foreign.slice(0, 2), [403, "permission_denied"], `${method} ${path}`)
      assert.deepStrictEqual(foreign, await seen(nowhere), `${method} ${path}`)
    }
    for (const projectId of [project.id, "prj_01K0000000000000000000000Z"]) {
      const list = await eve.ask("GET", `/client/sessions?projectId=${projectId}`)
      assert.deepStrictEqual([list.status, codeOf(list)], [403, "permission_denied"])
      const created = await eve.ask("POST", "/client/sessions", { body: { projectId, title: "x" } })
      assert.deepStrictEqual([created.status, codeOf(created)], [403, "permission_denied"])
    }
    assert.deepStrictEqual(await walk(eve, "/client/sessions"), [])
  })

  it("are read by viewers, and written by members", async () => {
    const session = await makeSession(ada, project)
    for (const path of ["", "/messages", "/agents"])
      assert.strictEqual((await bob.ask("GET", `/client/sessions/${session.id}${path}`)).status, 200)
    for (const answer of [
      await send(bob, session),
      await change(bob, session, { title: "x" }),
      await bob.ask(
        "DELETE",
        `/client/sessions/${session.id}/agents?agentInstanceId=agt_01K0000000000000000000000Z`
      )
    ])
      assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
  })

  it.each([
    ["an empty title", { title: "" }],
    ["a long title", { title: "x".repeat(10_000) }],
    ["U+0000", { title: "\0" }],
    ["half of a surrogate pair", { title: "a\udc00" }],
    ["a project that is none", { title: "x", projectId: "atlas" }]
  ])("refuse %s", async (_, wrong) => {
    const answer = await ada.ask("POST", "/client/sessions", { body: { projectId: project.id, ...wrong } })
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
  })

  it("can be archived and reopened, but not after closing", async () => {
    const session = await makeSession(ada, project)
    const states: Array<unknown> = []
    for (const [body, status] of [
      [{ title: "Renamed" }, 200],
      [{ state: "archived" }, 200],
      [{ state: "archived" }, 200],
      [{ title: "Late" }, 409],
      [{ title: "Open", state: "active" }, 200],
      [{ title: "Last", state: "closed" }, 200],
      [{ state: "closed" }, 200],
      [{ state: "active" }, 409],
      [{ state: "archived" }, 409],
      [{ title: "Later" }, 409],
      [{ title: "Later", state: "closed" }, 409],
      [{ state: "open" }, 422],
      [{ title: "a\0" }, 422]
    ] as const) {
      const answer = await change(ada, session, body)
      assert.strictEqual(answer.status, status, JSON.stringify(body))
      if (status === 409) assert.strictEqual(codeOf(answer), "conflict")
      if (status === 200) states.push([answer.body.title, answer.body.state])
    }
    assert.deepStrictEqual(states, [
      ["Renamed", "active"],
      ["Renamed", "archived"],
      ["Renamed", "archived"],
      ["Open", "active"],
      ["Last", "closed"],
      ["Last", "closed"]
    ])
  })

  it("are read-only while archived or closed", async () => {
    const { id: targetId } = await registerDevice(ada)
    await reportOffer(hub, targetId)
    const session = await makeSession(ada, project)
    const agents = `/client/sessions/${session.id}/agents`
    const body = { agentId: "scripted", targetId, workspace: "site" }
    const taken = await ada.ask<AgentInstance>("POST", agents, { body })
    await send(ada, session, "kept")
    for (const state of ["archived", "closed"]) {
      const { updatedAt } = (await change(ada, session, { state })).body
      for (const answer of [
        await send(ada, session),
        await ada.ask("POST", agents, { body }),
        await ada.ask("DELETE", `${agents}?agentInstanceId=${taken.body.id}`)
      ])
        assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
      const read = await ada.ask<Session>("GET", `/client/sessions/${session.id}`)
      assert.deepStrictEqual([read.body.updatedAt, read.body.agents.length], [updatedAt, 1])
      assert.strictEqual((await walk(ada, `/client/sessions/${session.id}/messages`)).length, 1)
    }
  })

  it("are ordered by last change, including messages and agents", async () => {
    const ownProject = await makeProject(ada)
    const [first, second, third] = [
      await makeSession(ada, ownProject),
      await makeSession(ada, ownProject),
      await makeSession(ada, ownProject)
    ]
    const order = async (query = `?projectId=${ownProject.id}`) =>
      (await walk<SessionItem>(ada, `/client/sessions${query}`, 2)).map(({ id }) => id)
    await send(ada, first)
    assert.strictEqual((await order())[0], first.id)
    const { id: targetId } = await registerDevice(ada)
    await reportOffer(hub, targetId)
    const taken = await ada.ask<AgentInstance>("POST", `/client/sessions/${second.id}/agents`, {
      body: { agentId: "scripted", targetId, workspace: "site" }
    })
    assert.strictEqual((await order())[0], second.id)
    await change(ada, third, { state: "archived" })
    assert.deepStrictEqual(await order(), [third.id, second.id, first.id])
    await ada.ask("DELETE", `/client/sessions/${second.id}/agents?agentInstanceId=${taken.body.id}`)
    assert.deepStrictEqual(await order(), [second.id, third.id, first.id])
    assert.deepStrictEqual(await order(`?projectId=${ownProject.id}&state=active`), [second.id, first.id])
    assert.deepStrictEqual(await order(`?projectId=${ownProject.id}&state=archived`), [third.id])
    assert.deepStrictEqual((await order("")).slice(0, 3), [second.id, third.id, first.id])
    assert.deepStrictEqual(
      await order("?state=archived"),
      (await order("?state=archived")).filter((id) => id !== first.id)
    )
    for (const query of ["?state=open", "?projectId=x", "?limit=201", "?cursor=AAAA"])
      assert.strictEqual(codeOf(await ada.ask("GET", `/client/sessions${query}`)), "schema_validation_failed")
  })

  it("list messages newest first", async () => {
    const session = await makeSession(ada, project)
    const output = Array.from({ length: 25 }, (_, i) => `message ${i}`)
    for (const text of output) assert.strictEqual((await send(ada, session, text)).status, 201)
    await Promise.all(Array.from({ length: 8 }, () => send(ada, session, "at once")))
    const messages = await walk<Message>(bob, `/client/sessions/${session.id}/messages`, 7)
    assert.deepStrictEqual(
      messages.slice(8).map(({ text }) => text),
      output.toReversed()
    )
    assert.deepEqual<unknown>(messages[0]?.author, { kind: "user", userId: ada.userId })
    const read = await ada.ask<Session>("GET", `/client/sessions/${session.id}`)
    assert.strictEqual(read.body.updatedAt, messages[0]?.createdAt)
  })

  it("store text unchanged, and reject invalid text", async () => {
    const session = await makeSession(ada, project)
    const text = "'; DROP TABLE messages; --\n\u{1f680} \u202e <script>" + "x".repeat(200_000)
    const created = await send(ada, session, text)
    assert.deepStrictEqual([created.status, created.body.text], [201, text])
    for (const wrong of ["", "a\0b", "\ud83d", "x".repeat(262_145)])
      assert.strictEqual(codeOf(await send(ada, session, wrong)), "schema_validation_failed")
    const foreign = await ada.ask("POST", `/client/sessions/${session.id}/messages`, {
      body: { text: "x", runId: "run_01K0000000000000000000000Z" }
    })
    assert.deepStrictEqual([foreign.status, codeOf(foreign)], [403, "permission_denied"])
    assert.strictEqual((await walk(ada, `/client/sessions/${session.id}/messages`)).length, 1)
  })

  it("return the same session, message and agent for the same key", async () => {
    const headers = { "idempotency-key": "k '1' \"2\"" }
    const make = (title: string) =>
      ada.ask<Session>("POST", "/client/sessions", { body: { projectId: project.id, title }, headers })
    const session = (await make("Keyed")).body
    const again = await make("Keyed")
    assert.deepStrictEqual([again.status, again.body.id], [201, session.id])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(codeOf(await make("Other")), "idempotency_conflict")

    const message = await send(ada, session, "once", headers)
    assert.strictEqual((await send(ada, session, "once", headers)).body.id, message.body.id)
    assert.strictEqual(codeOf(await send(ada, session, "twice", headers)), "idempotency_conflict")
    const many = await Promise.all(
      Array.from({ length: 6 }, () => send(ada, session, "many", { "idempotency-key": "many" }))
    )
    assert.strictEqual(
      new Set(many.filter(({ status }) => status === 201).map(({ body }) => body.id)).size,
      1
    )
    assert.strictEqual((await walk(ada, `/client/sessions/${session.id}/messages`)).length, 2)

    const { id: targetId } = await registerDevice(ada)
    await reportOffer(hub, targetId)
    const add = () =>
      ada.ask<AgentInstance>("POST", `/client/sessions/${session.id}/agents`, {
        body: { agentId: "scripted", targetId, workspace: "site" },
        headers
      })
    assert.strictEqual((await add()).body.id, (await add()).body.id)
    assert.strictEqual((await walk(ada, `/client/sessions/${session.id}/agents`)).length, 1)
    const long = await send(ada, session, "x", { "idempotency-key": "x".repeat(256) })
    assert.strictEqual(codeOf(long), "schema_validation_failed")
  })

  it("accept agents and workspaces that an allowed target offers", async () => {
    const max = await hub.signedIn("max")
    const team = await makeProject(ada, "private", [
      [max, "member"],
      [bob, "viewer"]
    ])
    const session = await makeSession(max, team)
    const path = `/client/sessions/${session.id}/agents`
    const ownDevice = await registerDevice(ada)
    const shared = await registerDevice(ada, { sharedWith: [team.id] })
    for (const { id } of [ownDevice, shared])
      await reportOffer(hub, id, { agents: ["scripted", "codex"], workspaces: ["site"] })
    const add = (targetId: string, agentId = "codex", workspace = "site", more = {}) =>
      max.ask<AgentInstance>("POST", path, { body: { targetId, agentId, workspace, ...more } })

    const created = await add(shared.id)
    assert.strictEqual(created.status, 201)
    assert.deepInclude(created.body, { label: "Agent codex", sessionId: session.id })
    assert.strictEqual(created.body.addedBy, max.userId)
    const named = await add(shared.id, "scripted", "site", { label: "Tester" })
    assert.strictEqual(named.body.label, "Tester")
    for (const [answer, status, code] of [
      [await add(ownDevice.id), 403, "unauthorized_target"],
      [await add("dev_01K0000000000000000000000Z"), 403, "unauthorized_target"],
      [await add(shared.id, "claude-code"), 400, "invalid_agent_id"],
      [await add(shared.id, "codex", "secrets"), 403, "workspace_outside_allowlist"],
      [await add(shared.id, "a\0b"), 422, "schema_validation_failed"],
      [await add(shared.id, "codex", "\0"), 422, "schema_validation_failed"],
      [await add(shared.id, "codex", "site", { label: "x".repeat(101) }), 422, "schema_validation_failed"],
      [await add("laptop"), 422, "schema_validation_failed"]
    ] as const)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code])

    const listed = await walk<AgentInstance>(bob, path, 1)
    assert.deepStrictEqual(
      listed.map(({ id }) => id),
      [created.body.id, named.body.id]
    )
    const read = await bob.ask<Session>("GET", `/client/sessions/${session.id}`)
    assert.deepStrictEqual(read.body.agents, listed)
    assert.strictEqual((await max.ask("DELETE", `${path}?agentInstanceId=${created.body.id}`)).status, 204)
    assert.strictEqual((await max.ask("DELETE", `${path}?agentInstanceId=${created.body.id}`)).status, 204)
    assert.strictEqual(codeOf(await max.ask("DELETE", path)), "schema_validation_failed")
    assert.deepStrictEqual(
      (await walk<AgentInstance>(bob, path)).map(({ id }) => id),
      [named.body.id]
    )

    await ada.ask("PATCH", `/client/devices/${shared.id}`, { body: { state: "revoked" } })
    assert.strictEqual(codeOf(await add(shared.id)), "unauthorized_target")
  })

  it("list the agents of allowed targets once", async () => {
    const [owner, member] = [await hub.signedIn("owner"), await hub.signedIn("member")]
    const team = await makeProject(owner, "private", [[member, "member"]])
    const ownDevice = await registerDevice(owner)
    const shared = await registerDevice(owner, { sharedWith: [team.id] })
    await reportOffer(hub, ownDevice.id, { agents: ["codex", "scripted"] })
    await reportOffer(hub, shared.id, { agents: ["scripted", "acp:ünï"], online: false })
    const profiles = await walk<AgentProfile>(owner, "/client/agents", 1)
    assert.deepStrictEqual(
      profiles.map(({ id, targets }) => [
        id as string,
        targets.toSorted((a, b) => (a.available ? -1 : b.available ? 1 : 0))
      ]),
      [
        ["acp:ünï", [{ targetId: shared.id, available: false }]],
        ["codex", [{ targetId: ownDevice.id, available: true }]],
        [
          "scripted",
          [
            { targetId: ownDevice.id, available: true },
            { targetId: shared.id, available: false }
          ]
        ]
      ]
    )
    assert.deepStrictEqual(
      (await walk<AgentProfile>(member, "/client/agents")).map(({ id }) => id as string),
      ["acp:ünï", "scripted"]
    )
    assert.deepStrictEqual(await walk(await hub.signedIn("stranger"), "/client/agents"), [])
  })
})
