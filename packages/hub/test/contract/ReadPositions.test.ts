/** Read positions, exports and forks of `/client/sessions/{id}` over a real Hub. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { MessageId } from "@corral/domain/identity/Ids"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Project } from "@corral/domain/project/Project"
import type { ReadPosition, Session, SessionItem } from "@corral/domain/session/Session"
import type { Message } from "@corral/domain/session/Message"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, createdRun, Mirror, runStarted } from "@corral/testing/hub/Mirror"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import { registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type ListPage, walk } from "../harness/Pages.ts"

interface JsonExport {
  readonly session: { readonly id: string; readonly title: string }
  readonly messages: ReadonlyArray<{
    readonly id: string
    readonly text: string
    readonly createdAt: string
    readonly author: { readonly kind: string; readonly name: string }
    readonly run?: { readonly id: string; readonly state: string }
  }>
}

describe("/client/sessions/{id}", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let project: Project

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
    project = await makeProject(ada, "private", [[bob, "viewer"]])
  })
  afterAll(() => hub.remove())

  const sendText = async ({ id }: Pick<Session, "id">, text: string, runId?: string) => {
    const sent = await ada.ask<Message>("POST", `/client/sessions/${id}/messages`, {
      body: { text, ...(runId === undefined ? {} : { runId }) }
    })
    assert.strictEqual(sent.status, 201, sent.text)
    return sent.body
  }

  describe("read", () => {
    const mark = (client: HubClient, { id }: Pick<Session, "id">, messageId: string) =>
      client.ask<ReadPosition>("POST", `/client/sessions/${id}/read`, { body: { messageId } })
    const unread = async (client: HubClient, { id }: Pick<Session, "id">) => {
      const { body: list } = await client.ask<ListPage<SessionItem>>("GET", "/client/sessions?limit=200")
      const { body: one } = await client.ask<Session>("GET", `/client/sessions/${id}`)
      const item = list.items.find((each) => each.id === id)
      assert.strictEqual(item?.unread, one.unread)
      return one.unread
    }

    it("counts messages of others after the position, which never moves back", async () => {
      const session = await makeSession(ada, project)
      const [first, second, third] = [
        await sendText(session, "one"),
        await sendText(session, "two"),
        await sendText(session, "three")
      ]
      assert.deepStrictEqual([await unread(ada, session), await unread(bob, session)], [0, 3])
      assert.deepStrictEqual((await mark(bob, session, second.id)).body, {
        sessionId: session.id,
        messageId: second.id,
        unread: 1
      })
      assert.deepInclude((await mark(bob, session, first.id)).body, { messageId: second.id, unread: 1 })
      assert.strictEqual(await unread(bob, session), 1)
      const marks = await Promise.all([third, first, second].map(({ id }) => mark(bob, session, id)))
      assert.deepStrictEqual(
        marks.map(({ status }) => status),
        [200, 200, 200]
      )
      assert.strictEqual(await unread(bob, session), 0)
      await sendText(session, "four")
      assert.strictEqual(await unread(bob, session), 1)
    })

    it("counts at most 100 messages", async () => {
      const session = await makeSession(ada, project)
      for (let i = 0; i < 102; i++) await sendText(session, `message ${i}`)
      assert.strictEqual(await unread(bob, session), 100)
    })

    it("refuses messages of other sessions like missing ones", async () => {
      const [session, other] = [await makeSession(ada, project), await makeSession(ada, project)]
      const { id } = await sendText(other, "elsewhere")
      for (const messageId of [id, "msg_01K0000000000000000000000Z" as MessageId]) {
        const answer = await mark(bob, session, messageId)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
      }
    })
  })

  describe("export", () => {
    const exported = (client: HubClient, { id }: Pick<Session, "id">, format: string) =>
      client.ask("GET", `/client/sessions/${id}/export?format=${format}`)

    it("contains authors, times, texts and runs with their states, oldest first", async () => {
      const session = await makeSession(ada, project, "Exported")
      const mirror = new Mirror(hub)
      const runId = await mirror.open(project.id, { ...createRun, sessionId: session.id })
      await mirror.append(runId, 1, createdRun, runStarted)
      const texts = Array.from({ length: 45 }, (_, i) => `text ${i}`)
      const sent: Array<Message> = []
      for (const [i, text] of texts.entries())
        sent.push(await sendText(session, text, i === 44 ? runId : undefined))
      const { headers, status, text } = await exported(bob, session, "json")
      assert.strictEqual(status, 200, text)
      assert.strictEqual(headers.get("content-type"), "application/json")
      const body = JSON.parse(text) as JsonExport
      assert.deepInclude(body.session, { id: session.id, title: "Exported" })
      assert.deepStrictEqual(
        body.messages.map(({ createdAt, id, text }) => ({ createdAt, id, text })),
        sent.map(({ createdAt, id, text }) => ({ createdAt, id, text }))
      )
      assert.deepStrictEqual(body.messages[0]?.author, {
        kind: "user",
        id: ada.userId,
        name: "ada"
      } as object)
      assert.deepStrictEqual(body.messages[44]?.run, { id: runId, state: "running" })
      const markdown = await exported(bob, session, "markdown")
      assert.include(markdown.text, "# Exported\n")
      assert.include(markdown.text, "## ada\n")
      assert.include(markdown.text, `- Run: ${runId}, running\n`)
      assert.strictEqual(markdown.text.match(/^```text$/gm)?.length, 45)
    })

    it("is empty for a session without messages", async () => {
      const session = await makeSession(ada, project, "Empty")
      assert.deepStrictEqual(
        (JSON.parse((await exported(ada, session, "json")).text) as JsonExport).messages,
        []
      )
      assert.match((await exported(ada, session, "markdown")).text, /^# Empty\n/)
    })

    it("rejects another format", async () => {
      const session = await makeSession(ada, project)
      const answer = await exported(ada, session, "html")
      assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
    })
  })

  describe("fork", () => {
    const fork = (client: HubClient, { id }: Pick<Session, "id">, messageId: string, headers = {}) =>
      client.ask<Session>("POST", `/client/sessions/${id}/fork`, { body: { messageId }, headers })
    const messagesOf = async ({ id }: Pick<Session, "id">) =>
      (await walk<Message>(ada, `/client/sessions/${id}/messages`, 200)).toReversed()

    it("starts a session with the conversation up to a message", async () => {
      const session = await makeSession(ada, project, "Plan")
      const sent = [
        await sendText(session, "one"),
        await sendText(session, "two"),
        await sendText(session, "three")
      ]
      const answer = await fork(ada, session, sent[1]?.id ?? "")
      assert.strictEqual(answer.status, 201, answer.text)
      assert.deepInclude<object>(answer.body, {
        projectId: project.id,
        title: "Plan",
        state: "active",
        createdBy: ada.userId
      })
      assert.notStrictEqual(answer.body.id, session.id)
      const copies = await messagesOf(answer.body)
      const fields = ({ author, createdAt, text }: Message) => ({ author, createdAt, text })
      assert.deepStrictEqual(copies.map(fields), sent.slice(0, 2).map(fields))
      assert.deepStrictEqual(
        copies.map(({ version }) => version),
        [1, 2]
      )
      assert.lengthOf(await messagesOf(session), 3)
      const next = await sendText(answer.body, "another way")
      assert.strictEqual(next.version, 3)
      assert.strictEqual((await messagesOf(answer.body)).at(-1)?.id, next.id)
    })

    it("copies agents, answers and delivered messages, and nothing that waits", async () => {
      const { id: targetId } = await registerDevice(ada)
      await reportOffer(hub, targetId)
      const session = await makeSession(ada, project)
      const added = await ada.ask<AgentInstance>("POST", `/client/sessions/${session.id}/agents`, {
        body: { agentId: "scripted", targetId, workspace: "site" }
      })
      assert.strictEqual(added.status, 201, added.text)
      const { id: agent } = added.body
      await hub.people.act(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`
            INSERT INTO messages (id, session_id, user_id, agent_instance_id, text, recipient, delivery, outcome, version, created_at)
            SELECT 'msg_01' || lpad(n::text, 24, '0'), ${session.id}, CASE WHEN n <> 2 THEN ${ada.userId ?? ""} END,
              CASE WHEN n = 2 THEN ${agent} END, 'message ' || n, CASE WHEN n <> 2 THEN ${agent} END,
              (ARRAY['delivered', NULL, 'pending', 'failed', 'withdrawn', 'delivered'])[n],
              CASE WHEN n = 2 THEN 'completed' END, n, now() + n * interval '1 millisecond'
            FROM generate_series(1, 6) n`
        )
      )
      await hub.people.act(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) =>
            sql`UPDATE session_agents SET conversation_run_id = ${`run_${"0".repeat(26)}`} WHERE id = ${agent}`
        )
      )
      const { body, status, text } = await fork(ada, session, `msg_01${"6".padStart(24, "0")}`)
      assert.strictEqual(status, 201, text)
      const [copied] = body.agents
      assert.isDefined(copied)
      assert.notStrictEqual(copied?.id, agent)
      assert.deepInclude<object>(copied ?? {}, {
        agentId: "scripted",
        targetId,
        workspace: "site",
        sessionId: body.id,
        mode: "ask"
      })
      assert.strictEqual(body.defaultAgentInstanceId, copied?.id)
      const copies = await messagesOf(body)
      assert.deepStrictEqual(
        copies.map(({ text }) => text),
        ["message 1", "message 2", "message 6"]
      )
      assert.deepInclude(copies[0], { to: copied?.id, delivery: { state: "delivered" } } as object)
      assert.deepInclude(copies[1], {
        author: { kind: "agent", agentInstanceId: copied?.id },
        outcome: "completed"
      } as object)
      const conversations = await hub.people.act(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`SELECT conversation_run_id FROM session_agents WHERE session_id = ${body.id}`
        )
      )
      assert.deepStrictEqual(conversations, [{ conversation_run_id: null }])
    })

    it("happens once per idempotency key, and is audited", async () => {
      const session = await makeSession(ada, project)
      const { id } = await sendText(session, "one")
      const headers = { "idempotency-key": "fork-once" }
      const [first, second] = [await fork(ada, session, id, headers), await fork(ada, session, id, headers)]
      assert.strictEqual(first.body.id, second.body.id)
      assert.strictEqual(second.headers.get("idempotency-replayed"), "true")
      const { body } = await ada.ask<ListPage<AuditRecord>>("GET", `/client/audit?projectId=${project.id}`)
      assert.lengthOf(
        body.items.filter(({ action, resource }) => action === "session.write" && resource === first.body.id),
        1
      )
    })

    it("is refused for viewers and for messages of other sessions", async () => {
      const [session, other] = [await makeSession(ada, project), await makeSession(ada, project)]
      const { id } = await sendText(session, "one")
      for (const answer of [await fork(bob, session, id), await fork(ada, other, id)])
        assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
    })
  })
})
