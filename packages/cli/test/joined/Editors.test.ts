/** Editors at a Hub whose device is elsewhere: turns, and the rights of the people who use them. */
import { methods } from "@agentclientprotocol/sdk"
import { HubClient, PIXEL } from "@corral/testing/hub/HubClient"
import type { Joined } from "@corral/testing/stack/Joined"
import { until, within } from "@corral/testing/time/Until"
import { afterAll, afterEach, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { driveEditorTurns } from "../acp/EditorTurns.ts"
import { choose, type TestEditor } from "../acp/TestEditor.ts"
import { Chats } from "./Chats.ts"
import { EditorHomes } from "./EditorHomes.ts"
import { raceDecisions } from "./EditorRaces.ts"
import { clientProtocolEditor } from "./RacingEditors.ts"
import { openForwardingAddress } from "./ForwardingAddress.ts"

describe("Editors at a Hub", () => {
  let chats: Chats
  let joined: Joined
  const homes = new EditorHomes()
  beforeAll(async () => {
    chats = await Chats.open()
    joined = chats.joined
  })
  afterAll(async () => {
    homes.remove()
    await chats.remove()
  })

  afterEach(async () => {
    const { body } = await joined.owner.ask<{ items: ReadonlyArray<{ id: string; state: string }> }>(
      "GET",
      `/client/runs?projectId=${joined.projectId}&limit=200`
    )
    // Runs of other tests would wait for the workspace.
    for (const { id } of body.items.filter(({ state }) => state === "running"))
      await joined.owner.ask("POST", `/client/runs/${id}/cancel`)
  })

  const editorOf = async (client: HubClient, token = client.token): Promise<TestEditor> => {
    const editor = await homes.open(client, token)
    onTestFinished(() => editor.close())
    return editor
  }

  const memberAs = async (name: string, role: "member" | "viewer"): Promise<HubClient> => {
    const member = await joined.hub.signedIn(name)
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: member.userId, role }
    })
    assert.strictEqual(added.status, 201, added.text)
    return member
  }

  const refusalOf = async (request: Promise<unknown>): Promise<unknown> => {
    const outcome: unknown = await request.then(
      () => "succeeded",
      (error: unknown) => error
    )
    const { code, data } = Object(outcome)
    return { code, reason: Object(data).code }
  }

  it("drives five turns on a device elsewhere, reconnects in the middle of one and resumes", async () => {
    await driveEditorTurns(() => editorOf(joined.owner))
  })

  it("records the origin of a decision, and names who decided in the console", async () => {
    // The sign-in of the command line: without the editor's word it means a terminal.
    const { token } = await joined.hub.people.signIn("owner", "cli")
    const editor = await editorOf(joined.owner, token)
    const session = await editor.create()
    const turn = editor.prompt(session, "/write a.txt x\n/write b.txt x")
    choose(await editor.permission(), "allow_once")
    const dialog = await editor.permission(1)
    const open = await joined.owner.ask<{ items: ReadonlyArray<{ id: string }> }>(
      "GET",
      `/client/approvals?state=pending&projectId=${joined.projectId}`
    )
    const browser = await joined.hub.atBrowser("owner")
    const decided = await browser.ask("POST", `/client/approvals/${open.body.items[0]?.id}/decide`, {
      body: { decision: "deny" }
    })
    assert.strictEqual(decided.status, 200, decided.text)
    await until(async () => dialog.signal.aborted || undefined, "the dialog closed")
    await turn
    assert.match(editor.text, /Write a\.txt: approved by you in an editor/)
    assert.match(editor.text, /Write b\.txt: denied by you in the console/)
    const audit = await joined.owner.ask(
      "GET",
      `/client/audit?projectId=${joined.projectId}&action=approval.decide&limit=200`
    )
    assert.include(audit.text, `"origin":"editor"`)
  })

  it("has one winner of each race with the console, a terminal and a chat, and names it", async () => {
    const editor = clientProtocolEditor(await homes.open(joined.owner))
    const wins = await raceDecisions(chats, editor, 5)
    assert.strictEqual(
      [...wins.values()].reduce((sum, count) => sum + count, 0),
      5
    )
  })

  it.each(["load", "resume"] as const)(
    "shows a run that begins while an editor opens the session to %s it, and answers before the end",
    async (how) => {
      const first = await editorOf(joined.owner)
      const session = await first.create()
      await first.prompt(session, "/say one")
      const messages = `/client/sessions/${session}/messages`
      const { token, url, userId } = joined.owner
      let turn: Promise<unknown> | undefined
      const before = async (method: string, path: string): Promise<void> => {
        if (turn !== undefined || method !== "GET" || !path.startsWith(messages)) return
        turn = first.prompt(session, "/say before\n/write late.txt x\n/say after")
        await first.permission()
      }
      const address = await openForwardingAddress(url, { before })
      const second = await editorOf(new HubClient(address, token, userId))
      if (how === "load") await second.load(session)
      else await second.agent.request(methods.agent.session.resume, { sessionId: session, cwd: second.cwd })
      choose(await second.permission(), "allow_once")
      await second.shows("after")
      for (const text of how === "load" ? ["before", "after"] : ["after"])
        assert.strictEqual(second.text.split(text).length, 2, second.text)
      await turn
    }
  )

  it("ends a prompt whose run begins before the editor knows that the Hub has the message", async () => {
    const { token, url, userId } = joined.owner
    const shown = Promise.withResolvers<void>()
    const after = async (method: string, path: string): Promise<void> => {
      if (method === "POST" && path.endsWith("/messages")) await shown.promise
    }
    const address = await openForwardingAddress(url, { after })
    const editor = await editorOf(new HubClient(address, token, userId))
    const session = await editor.create()
    const turn = editor.prompt(session, "/write slow.txt x\n/say done")
    const dialog = await editor.permission()
    shown.resolve()
    choose(dialog, "allow_once")
    assert.strictEqual((await within(turn, 20_000, "the end of the turn")).stopReason, "end_turn")
    assert.strictEqual(editor.textOf("user_message_chunk"), "")
    assert.strictEqual(editor.text.split("done").length, 2, editor.text)
  })

  it("sends text, links, texts of files and images with a prompt", async () => {
    const editor = await editorOf(joined.owner)
    const session = await editor.create()
    const turn = editor.agent.request(methods.agent.session.prompt, {
      sessionId: session,
      prompt: [
        { type: "text", text: "/say look" },
        { type: "resource_link", name: "main.ts", uri: "file:///code/main.ts" },
        { type: "resource", resource: { uri: "file:///code/a.txt", text: "the text of a file" } },
        { type: "image", mimeType: "image/png", data: PIXEL.toString("base64") }
      ]
    })
    assert.strictEqual((await turn).stopReason, "end_turn")
    const { body } = await joined.owner.ask<{
      readonly items: ReadonlyArray<{
        readonly text: string
        readonly attachments?: ReadonlyArray<{ readonly name: string; readonly mediaType: string }>
      }>
    }>("GET", `/client/sessions/${session}/messages`)
    const sent = body.items.at(-1)
    assert.include(sent?.text, "[main.ts](file:///code/main.ts)")
    assert.include(sent?.text, "the text of a file")
    assert.deepStrictEqual(
      sent?.attachments?.map(({ mediaType, name }) => [name, mediaType]),
      [["image.png", "image/png"]]
    )
    const wrong = { type: "image" as const, mimeType: "image/png", data: "AAAA" }
    const refusal = await refusalOf(
      editor.agent.request(methods.agent.session.prompt, {
        sessionId: session,
        prompt: [{ type: "text", text: "/say no" }, wrong]
      })
    )
    assert.deepInclude(Object(refusal), { code: -32602 })
  })

  it("refuses outsiders and viewers as over HTTP", async () => {
    const owner = await editorOf(joined.owner)
    const session = await owner.create()
    await owner.prompt(session, "/say one")

    const outsider = await editorOf(await joined.hub.signedIn("outsider"))
    const refused = { code: -32603, reason: "permission_denied" }
    assert.deepStrictEqual(await refusalOf(outsider.load(session)), refused)

    const viewer = await editorOf(await memberAs("reader", "viewer"))
    await viewer.load(session)
    assert.include(viewer.text, "one")
    assert.deepStrictEqual(await refusalOf(viewer.prompt(session, "/say no")), refused)
    assert.deepStrictEqual(await refusalOf(viewer.create()), refused)
  })

  it("lets an API key read, start and send, and decide nothing", async () => {
    const browser = await joined.hub.atBrowser("owner")
    const key = await browser.ask<{ token: string }>("POST", "/client/auth/keys", {
      body: { name: "editor", scopes: ["read", "write"] }
    })
    assert.strictEqual(key.status, 201, key.text)
    const editor = await editorOf(joined.owner, key.body.token)
    const session = await editor.create()
    const turn = editor.prompt(session, "/say started\n/write k.txt x")
    choose(await editor.permission(), "allow_once")
    await editor.shows("The scopes of this key don't allow this.")
    await editor.shows("started")
    const open = await joined.owner.ask<{ items: ReadonlyArray<{ id: string }> }>(
      "GET",
      `/client/approvals?state=pending&projectId=${joined.projectId}`
    )
    assert.strictEqual(open.body.items.length, 1)
    await joined.owner.ask("POST", `/client/approvals/${open.body.items[0]?.id}/decide`, {
      body: { decision: "deny" }
    })
    await turn
  })

  it("ends a live session when the member is removed", async () => {
    const member = await memberAs("leaver", "member")
    const editor = await editorOf(member)
    const session = await editor.create()
    const turn = editor.prompt(session, "/say begun\n/hang")
    await editor.shows("begun")
    const removed = await joined.owner.ask(
      "DELETE",
      `/client/projects/${joined.projectId}/members/${member.userId}`
    )
    assert.isBelow(removed.status, 300, removed.text)
    assert.deepStrictEqual(await refusalOf(turn), { code: -32603, reason: "permission_denied" })
    assert.deepStrictEqual(await refusalOf(editor.prompt(session, "/say no")), {
      code: -32603,
      reason: "permission_denied"
    })
  })

  it("ends the connection when the sign-in is revoked", async () => {
    const member = await memberAs("signer", "member")
    const editor = await editorOf(member)
    const session = await editor.create()
    const turn = editor.prompt(session, "/say begun\n/hang").catch((error: unknown) => error)
    await editor.shows("begun")
    const out = await member.ask("POST", "/client/auth/logout")
    assert.isBelow(out.status, 300, out.text)
    const end = await editor.end
    assert.strictEqual(end._tag, "Failure")
    assert.include(JSON.stringify(end), "unauthorized")
    assert.deepInclude(Object(await turn), { code: -32000 })
    assert.strictEqual(
      await editor.agent.request(methods.agent.session.list, {}).catch(() => "closed"),
      "closed"
    )
  })
})
