import { RunMode } from "@corral/domain/run/Run"
import { CHAT_ACCOUNT_HEADER, type ChatAccount } from "@corral/domain/chat/ChatAccount"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { Project } from "@corral/domain/project/Project"
import type { Session } from "@corral/domain/session/Session"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { WebSocket } from "ws"
import type { Answer } from "@corral/testing/http/Contract"
import { within, UncontendedTime } from "@corral/testing/time/Until"
import { chatEndpoints } from "../../src/signin/HubCredentials.ts"
import {
  actingAs,
  bindingRequired,
  cardAction,
  confirmedLink,
  GATEWAY_TOKEN,
  gatewayEnv,
  gatewayOf,
  messageReceived,
  newAccount
} from "@corral/testing/hub/Chats"
import { type HubRequestOptions, codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  createdRun,
  createRun,
  Mirror,
  newId,
  runStarted
} from "@corral/testing/hub/Mirror"
import { StreamReader } from "@corral/testing/hub/StreamReader"
import { makeProject } from "@corral/testing/hub/People"

const detailsOf = ({ body }: Answer): unknown => (body as { readonly details?: unknown }).details

describe("a Gateway", () => {
  const other = "another-gateway-token-of-the-tests-012345"
  const hub = new HubInProcess({
    env: { CORRAL_HUB_GATEWAY_TOKEN: `${gatewayEnv.CORRAL_HUB_GATEWAY_TOKEN}, ${other}` }
  })
  let gateway: HubClient
  let ada: HubClient
  let eve: HubClient
  let project: Project
  beforeAll(async () => {
    await hub.start()
    gateway = gatewayOf(hub)
    ada = await hub.signedIn("ada")
    eve = await hub.signedIn("eve")
    project = await makeProject(ada, "private", [[eve, "viewer"]])
  })
  afterAll(() => hub.remove())

  /** An account that is bound to a user, and the id of the binding. */
  const bound = async (person: HubClient) => {
    const account = newAccount()
    const number = await confirmedLink(hub, account, person.userId)
    const created = await gateway.ask<{ readonly id: string }>("POST", "/integrations/bindings", {
      body: { ...account, number }
    })
    assert.strictEqual(created.status, 201, created.text)
    return { account, bindingId: created.body.id }
  }

  const onStore = (statement: string, parameters: ReadonlyArray<unknown> = []) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement, parameters)))

  const askAs = <Body = unknown>(
    account: ChatAccount,
    method: string,
    path: string,
    more: HubRequestOptions = {}
  ) => gateway.ask<Body>(method, path, { ...more, ...actingAs(account) })

  const event = (body: object, client = gateway) => client.ask("POST", "/integrations/events", { body })
  const unbind = (account: ChatAccount) =>
    gateway.ask("POST", "/integrations/bindings/unbind", { body: account })

  const isNotBound = (answer: Answer): void => {
    assert.strictEqual(codeOf(answer), "binding_required", answer.text)
    assert.deepStrictEqual(detailsOf(answer), { reason: "not_bound" })
  }

  it("gets the user as whom an account acts", async () => {
    const { account } = await bound(ada)
    for (const sample of [messageReceived(account), cardAction(account)]) {
      assert.deepStrictEqual((await event(sample)).body, { user: { id: ada.userId, name: "ada" } })
      isNotBound(await event({ ...sample, ...messageReceived(newAccount()) }))
    }
    assert.strictEqual(codeOf(await event(bindingRequired(account))), "conflict")
  })

  it("acts as the user at every endpoint for chats", async () => {
    const { account } = await bound(ada)
    const me = await askAs<{ readonly user: { readonly id: string }; readonly kind: string }>(
      account,
      "GET",
      "/client/auth/me"
    )
    assert.deepStrictEqual([me.body.user.id, me.body.kind], [ada.userId, "chat"])
    const created = await askAs<Session>(account, "POST", "/client/sessions", {
      body: { projectId: project.id, title: "From a chat" }
    })
    assert.strictEqual(created.status, 201, created.text)
    const response = await askAs(account, "POST", `/client/sessions/${created.body.id}/messages`, {
      body: { text: "hello" }
    })
    assert.strictEqual(response.status, 201, response.text)
    for (const list of ["projects", "sessions", "targets", "agents", "tasks", "runs", "approvals"])
      assert.strictEqual((await askAs(account, "GET", `/client/${list}`)).status, 200)
    assert.strictEqual((await ada.ask("GET", `/client/sessions/${created.body.id}`)).status, 200)
    const { body } = await ada.ask<{ readonly items: ReadonlyArray<{ readonly resource: string }> }>(
      "GET",
      `/client/audit?projectId=${project.id}&actor=${ada.userId}&action=session.write`
    )
    assert.include(
      body.items.map(({ resource }) => resource),
      created.body.id
    )
  })

  it("has the permissions of the user, and no others", async () => {
    const { account } = await bound(eve)
    const mirror = new Mirror(hub)
    const approvalId = newId<ApprovalId>("apr")
    const runId = await mirror.run(project.id, createdRun, runStarted, approvalRequested(approvalId))
    assert.strictEqual((await askAs(account, "GET", `/client/runs/${runId}`)).status, 200)
    const refused = [
      await askAs(account, "POST", "/client/sessions", { body: { projectId: project.id, title: "x" } }),
      await askAs(account, "POST", `/client/approvals/${approvalId}/decide`, {
        body: { decision: "allow", scope: "once" }
      }),
      await askAs(account, "POST", `/client/runs/${runId}/cancel`),
      await askAs(account, "GET", `/client/projects/prj_${"0".repeat(26)}`)
    ]
    for (const answer of refused) assert.strictEqual(codeOf(answer), "permission_denied", answer.text)
  })

  it("limits chats to the mode ask, in tasks and as input to runs", async () => {
    const { account } = await bound(ada)
    const mirror = new Mirror(hub)
    await mirror.device(ada.userId, project.id)
    for (const mode of RunMode.literals) {
      const isNarrow = mode === "read_only" || mode === "plan" || mode === "ask"
      const body = {
        ...createRun,
        mode,
        projectId: project.id,
        targetId: mirror.targetId,
        onOffline: "queue"
      }
      const task = await askAs(account, "POST", "/web/agent-tasks", { body })
      assert.strictEqual(task.status, isNarrow ? 201 : 403, `${mode}: ${task.text}`)
      const runId = await mirror.open(project.id, { ...createRun, mode })
      await mirror.append(runId, 1, createdRun, runStarted)
      const input = await askAs(account, "POST", `/client/runs/${runId}/input`, { body: { text: "More" } })
      assert.strictEqual(
        codeOf(input),
        isNarrow ? "target_offline" : "permission_denied",
        `${mode}: ${input.text}`
      )
      // The same user in a client of their own.
      assert.strictEqual((await ada.ask("POST", "/web/agent-tasks", { body })).status, 201)
    }
  })

  it("adds agents to a session in the mode ask at most", async () => {
    const { account } = await bound(ada)
    const mirror = new Mirror(hub)
    await mirror.device(ada.userId, project.id)
    const { body: session } = await askAs<Session>(account, "POST", "/client/sessions", {
      body: { projectId: project.id }
    })
    for (const mode of RunMode.literals) {
      const isNarrow = mode === "read_only" || mode === "plan" || mode === "ask"
      const { agentId, workspace } = createRun
      const body = { agentId, workspace, targetId: mirror.targetId, mode }
      const added = await askAs(account, "POST", `/client/sessions/${session.id}/agents`, { body })
      // The device has reported no agent yet.
      assert.strictEqual(codeOf(added), isNarrow ? "invalid_agent_id" : "permission_denied", mode)
    }
  })

  it("is refused at every endpoint that chats may not call", async () => {
    const { account, bindingId } = await bound(ada)
    const code = "x".repeat(43)
    const refused = [
      await askAs(account, "POST", "/client/auth/keys", { body: { name: "ci", scopes: ["read"] } }),
      await askAs(account, "GET", "/client/auth/keys"),
      await askAs(account, "POST", "/client/auth/refresh"),
      await askAs(account, "POST", "/client/auth/logout"),
      await askAs(account, "DELETE", `/client/projects/${project.id}`),
      await askAs(account, "POST", "/client/projects", { body: { name: "Another" } }),
      await askAs(account, "POST", "/client/devices/join-tokens", { body: {} }),
      await askAs(account, "GET", "/client/audit"),
      await askAs(account, "GET", "/client/news"),
      await askAs(account, "GET", "/client/chat-bindings"),
      await askAs(account, "DELETE", `/client/chat-bindings/${bindingId}`),
      await askAs(account, "POST", "/client/chat-links/look", { body: { code } }),
      await askAs(account, "POST", "/client/chat-links/confirm", { body: { code } })
    ]
    for (const answer of refused) {
      assert.strictEqual(codeOf(answer), "permission_denied", answer.text)
      assert.include(answer.text, "available in a chat")
    }
  })

  it("lists endpoints of the contract only", () => {
    const served = new Set(["GET /client/events"])
    HttpApi.reflect(HubApi, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint }) => void served.add(`${endpoint.method} ${endpoint.path}`)
    })
    assert.deepStrictEqual(
      [...chatEndpoints].filter((endpoint) => !served.has(endpoint)),
      []
    )
  })

  it("acts as no user without an account, or with an unknown account", async () => {
    const { account } = await bound(ada)
    isNotBound(await askAs(newAccount(), "GET", "/client/auth/me"))
    for (const moved of [{ tenant: "t2" }, { app: "a2" }, { platform: "slack" }, { account: "ou_2" }])
      isNotBound(await askAs({ ...account, ...moved }, "GET", "/client/auth/me"))
    const whole = actingAs(account).headers[CHAT_ACCOUNT_HEADER]
    for (const named of [
      undefined,
      "",
      "feishu",
      `${whole}/x`,
      `${whole},${whole}`,
      "a/b/c/",
      "a/b/c/%00",
      "a/b/c/%ff",
      `a/b/c/${"x".repeat(129)}`,
      "a/b/c/';--"
    ]) {
      const headers = named === undefined ? {} : { headers: { [CHAT_ACCOUNT_HEADER]: named } }
      const answer = await gateway.ask("GET", "/client/auth/me", headers)
      const expected = named === "a/b/c/';--" ? "binding_required" : "unauthorized"
      assert.strictEqual(codeOf(answer), expected, named)
    }
  })

  it("is admitted by any of several tokens, and by nothing else", async () => {
    const { account } = await bound(ada)
    const me = (token: string) => hub.client.ask("GET", "/client/auth/me", { token, ...actingAs(account) })
    assert.strictEqual((await me(other)).status, 200)
    for (const token of [`${GATEWAY_TOKEN}x`, GATEWAY_TOKEN.slice(1), `${GATEWAY_TOKEN},${other}`])
      assert.strictEqual(codeOf(await me(token)), "unauthorized")
    for (const client of [hub.client, ada, new HubClient(hub.url, `${GATEWAY_TOKEN}x`)]) {
      assert.strictEqual(codeOf(await event(messageReceived(account), client)), "unauthorized")
      for (const path of ["/integrations/bindings", "/integrations/bindings/unbind"])
        assert.strictEqual(
          codeOf(await client.ask("POST", path, { body: { ...account, number: "000000" } })),
          "unauthorized"
        )
    }
    // Of anybody else the account's name changes nothing.
    const ownUser = await eve.ask<{ readonly user: { readonly id: string } }>(
      "GET",
      "/client/auth/me",
      actingAs(account)
    )
    assert.strictEqual(ownUser.body.user.id, eve.userId)
  })

  it.each([
    [{ senderId: "" }, "payload.senderId"],
    [{ senderId: "a b" }, "payload.senderId"],
    [{ senderId: "x".repeat(10_000) }, "payload.senderId"],
    [{ tenant: "\u0000" }, "payload.tenant"],
    [{ app: undefined }, "payload.app"],
    [{ platform: "\ud800" }, "payload.platform"],
    [{ v: 2 }, "payload.v"]
  ])("gets the invalid field of an event (%#)", async (wrong, path) => {
    const request = bindingRequired(newAccount())
    const answer = await event({ ...request, payload: { ...request.payload, ...wrong } })
    assert.strictEqual(codeOf(answer), "schema_validation_failed")
    const { issues } = detailsOf(answer) as { readonly issues: ReadonlyArray<{ readonly path: string }> }
    assert.include(
      issues.map((issue) => issue.path),
      path
    )
  })

  it.each([{}, { number: "12345" }, { number: "１２３４５６" }, { number: 123456 }, { tenant: "\u0000" }])(
    "binds nothing with a wrong body (%#)",
    async (wrong) => {
      const body = {
        ...newAccount(),
        ...(Object.keys(wrong).length > 0 ? { number: "123456" } : {}),
        ...wrong
      }
      const answer = await gateway.ask("POST", "/integrations/bindings", { body })
      assert.strictEqual(codeOf(answer), "schema_validation_failed")
    }
  )

  it("acts as no user as soon as the account is unlinked, in the chat or by the user", async () => {
    const first = await bound(ada)
    assert.strictEqual((await unbind(first.account)).status, 204)
    isNotBound(await askAs(first.account, "GET", "/client/auth/me"))
    isNotBound(await event(messageReceived(first.account)))
    isNotBound(await unbind(first.account))

    const second = await bound(ada)
    const path = `/client/chat-bindings/${second.bindingId}`
    const denied = await eve.ask<object>("DELETE", path)
    const nothing = await eve.ask<object>("DELETE", `/client/chat-bindings/cbd_${"0".repeat(26)}`)
    assert.strictEqual(codeOf(denied), "permission_denied")
    assert.deepStrictEqual({ ...denied.body, requestId: "" }, { ...nothing.body, requestId: "" })
    assert.strictEqual((await askAs(second.account, "GET", "/client/auth/me")).status, 200)
    assert.strictEqual((await ada.ask("DELETE", path)).status, 204)
    assert.strictEqual(codeOf(await ada.ask("DELETE", path)), "permission_denied")
    isNotBound(await askAs(second.account, "GET", "/client/auth/me"))
  })

  it("links an unlinked account again, also to another user", async () => {
    const { account } = await bound(ada)
    await unbind(account)
    const number = await confirmedLink(hub, account, eve.userId)
    assert.strictEqual(
      (await gateway.ask("POST", "/integrations/bindings", { body: { ...account, number } })).status,
      201
    )
    const expected = { user: { id: eve.userId, name: "eve" } }
    assert.deepStrictEqual((await event(messageReceived(account))).body, expected)
  })

  it("lists the bindings of each user, page by page", async () => {
    const person = await hub.signedIn("grace")
    const created = []
    for (let i = 0; i < 3; i++) created.push((await bound(person)).bindingId)
    const page = await person.ask<{
      readonly items: ReadonlyArray<{ readonly id: string }>
      readonly nextCursor: string
    }>("GET", "/client/chat-bindings?limit=2")
    const rest = await person.ask<typeof page.body>(
      "GET",
      `/client/chat-bindings?limit=2&cursor=${page.body.nextCursor}`
    )
    assert.deepStrictEqual(
      [...page.body.items, ...rest.body.items].map(({ id }) => id),
      created
    )
    assert.isNull(rest.body.nextCursor)
    const foreign = await eve.ask("GET", `/client/chat-bindings?limit=2&cursor=${page.body.nextCursor}`)
    assert.strictEqual(codeOf(foreign), "schema_validation_failed")
  })

  it("follows a run until the account is unlinked, then is disconnected", async () => {
    const { account } = await bound(ada)
    const runId = await new Mirror(hub).run(project.id, createdRun, runStarted)
    const headers = { authorization: `Bearer ${GATEWAY_TOKEN}`, ...actingAs(account).headers }
    const response = await fetch(`${hub.url}/client/runs/${runId}/events`, {
      headers: { ...headers, accept: "text/event-stream" }
    })
    assert.deepStrictEqual(
      [response.status, response.headers.get("content-type")],
      [200, "text/event-stream"]
    )
    assert.isNotNull(response.body)
    const reader = response.body.getReader()
    const first = await reader.read()
    assert.include(new TextDecoder().decode(first.value), "run.created")
    const socket = new StreamReader(
      new WebSocket(`${hub.url.replace("http", "ws")}/client/events?runId=${runId}`, { headers })
    )
    await socket.count(2)
    const ended = async (): Promise<void> => {
      if (!(await reader.read()).done) await ended()
    }
    const ending = new UncontendedTime()
    await unbind(account)
    await within(ended(), 2_000, "the end of the stream")
    assert.match((await socket.closed(2_000)).reason, /sign-in has ended/)
    assert.isBelow(ending.millis, 1_000)
  })

  it("acts as no user while the user has not signed in for 90 days", async () => {
    const alan = await hub.signedIn("alan")
    const { account } = await bound(alan)
    const age = (days: number) =>
      onStore(`UPDATE users SET signed_in_at = now() - interval '${days} days' WHERE id = $1`, [alan.userId])
    await age(89)
    assert.strictEqual((await askAs(account, "GET", "/client/auth/me")).status, 200)
    await age(91)
    isNotBound(await askAs(account, "GET", "/client/auth/me"))
    isNotBound(await event(messageReceived(account)))
    await hub.signedIn("alan")
    assert.strictEqual((await askAs(account, "GET", "/client/auth/me")).status, 200)
    // Another user may have the account by then.
    await age(91)
    const number = await confirmedLink(hub, account, eve.userId)
    const taken = await gateway.ask("POST", "/integrations/bindings", { body: { ...account, number } })
    assert.strictEqual(taken.status, 201, taken.text)
    await hub.signedIn("alan")
    const expected = { user: { id: eve.userId, name: "eve" } }
    assert.deepStrictEqual((await event(messageReceived(account))).body, expected)
  })

  it("leaves no token in the log", () => {
    assert.notInclude(hub.stderr, GATEWAY_TOKEN)
    assert.notInclude(hub.stderr, other)
  })
})
