/** Read positions and exports of `/client/sessions/{id}` over a real Hub. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { MessageId } from "@corral/domain/identity/Ids"
import type { Project } from "@corral/domain/project/Project"
import type { ReadPosition } from "@corral/domain/session/Conversation"
import type { Message } from "@corral/domain/session/Message"
import type { Session, SessionItem } from "@corral/domain/session/Session"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, createdRun, Mirror, runStarted } from "@corral/testing/hub/Mirror"
import { makeProject, makeSession } from "@corral/testing/hub/Teams"
import type { ListPage } from "../harness/Pages.ts"

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

describe("/client/sessions/{id}", { timeout: 60_000 }, () => {
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

  const say = async ({ id }: Pick<Session, "id">, text: string, runId?: string) => {
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
        await say(session, "one"),
        await say(session, "two"),
        await say(session, "three")
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
      await say(session, "four")
      assert.strictEqual(await unread(bob, session), 1)
    })

    it("counts at most 100 messages", async () => {
      const session = await makeSession(ada, project)
      for (let i = 0; i < 102; i++) await say(session, `message ${i}`)
      assert.strictEqual(await unread(bob, session), 100)
    })

    it("refuses messages of other sessions like missing ones", async () => {
      const [session, other] = [await makeSession(ada, project), await makeSession(ada, project)]
      const { id } = await say(other, "elsewhere")
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
        sent.push(await say(session, text, i === 44 ? runId : undefined))
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
})
