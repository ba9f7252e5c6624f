/** What the workbench of VS Code 1.139 needs from a host, as it was observed there. */
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import { ROOT } from "@corral/testing/editor/AgentHostClient"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { TargetOffline } from "@corral/domain/errors/Failures"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { AgentHostSession } from "@corral/testing/editor/AgentHostSession"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress, contentAddress } from "../../src/protocol/Addresses.ts"
import { servedSession, serveHost } from "../HostServer.ts"
import { agentId, folder, MemoryServices } from "../MemoryServices.ts"

type Fields = Readonly<Record<string, unknown>>

const setUp = Effect.gen(function* () {
  const served = yield* servedSession
  return { ...served, client: yield* served.server.open() }
})

describe("the workbench needs", () => {
  it.live("an agent with a model and without protected resources", () =>
    Effect.gen(function* () {
      const { client } = yield* setUp
      const { agents } = yield* Effect.promise(() => client.subscribe(ROOT))
      assert.deepStrictEqual(agents, [
        {
          provider: agentId,
          displayName: "Claude Code",
          description: "An agent",
          models: [{ id: "default", provider: agentId, name: "Default" }]
        }
      ])
    })
  )

  it.live(
    "sessions with the address of their provider, below the opened folder, with chats and a default one",
    () =>
      Effect.gen(function* () {
        const { chat, client, session } = yield* setUp
        const { items } = yield* Effect.promise(() => client.call("listSessions"))
        const [summary] = items as ReadonlyArray<Fields>
        assert.strictEqual(summary?.["resource"], session)
        assert.match(session, /^claude-code:\/[0-9a-f-]{36}$/)
        assert.deepStrictEqual(summary?.["workingDirectories"], [`file://${folder}`])
        assert.isFinite(Date.parse(String(summary?.["createdAt"])))
        const state = yield* Effect.promise(() => client.subscribe(session))
        assert.strictEqual(state["defaultChat"], chat)
        assert.deepStrictEqual(
          (state["chats"] as ReadonlyArray<Fields>).map(({ resource }) => resource),
          [chat]
        )
      })
  )

  it.live("the same session under ahp-session: for other clients", () =>
    Effect.gen(function* () {
      const { client, services, id, session } = yield* setUp
      const other = session.replace("claude-code:", "ahp-session:")
      const state = yield* Effect.promise(() => client.subscribe(other))
      assert.strictEqual(state["title"], "Fix the test")
      services.changeSession(id, { title: "Another title" })
      const { channel } = yield* Effect.promise(() => client.action("session/titleChanged"))
      assert.strictEqual(channel, other)
    })
  )

  it.live("answers to ping, resolveSessionConfig, createSession and disposeSession", () =>
    Effect.gen(function* () {
      const { client } = yield* setUp
      const draft = `${agentId}:/00000000-0000-4000-8000-000000000001`
      yield* Effect.promise(async () => {
        assert.deepStrictEqual(await client.request("ping", {}, ROOT), { result: null })
        const { schema, values } = await client.call("resolveSessionConfig", { provider: agentId })
        assert.deepStrictEqual(values, { corralMode: "ask" })
        assert.strictEqual((schema as Fields)["type"], "object")
        assert.deepStrictEqual(await client.request("createSession", { provider: agentId }, draft), {
          result: null
        })
        await client.subscribe(draft)
        assert.deepStrictEqual(await client.request("disposeSession", {}, draft), { result: null })
        assert.strictEqual((await client.refusal("subscribe", {}, draft)).code, -32001)
      })
    })
  )

  it.live("a session in the folder around the only workspace, and in a folder of it", () =>
    Effect.gen(function* () {
      const { client, services } = yield* setUp
      for (const directory of ["/home/user", "/", `${folder}/src`])
        yield* Effect.promise(async () => {
          const session = await AgentHostSession.create(client, agentId, directory)
          assert.deepStrictEqual(session.state["workingDirectories"], [`file://${folder}`], directory)
          await session.prompt("hello")
          assert.strictEqual(services.sent.at(-1)?.workspace, "sample")
        })
    })
  )

  it.live("a line with the folder to open in the first turn of a session in a folder of the workspace", () =>
    Effect.gen(function* () {
      const { client } = yield* setUp
      yield* Effect.promise(async () => {
        const linesIn = async (directory: string) => {
          const session = await AgentHostSession.create(client, agentId, directory)
          await session.prompt("hello")
          const { activeTurn } = await client.subscribe(session.chat)
          return JSON.stringify(Object(activeTurn).responseParts)
        }
        const line = `The agent works in ${folder}. Open that folder in the editor to see its sessions.`
        assert.include(await linesIn(`${folder}/src`), line)
        assert.strictEqual(await linesIn(folder), "[]")
        assert.strictEqual(await linesIn("/home/user"), "[]")
      })
    })
  )

  it.live("a session in any other folder, whose turns end with the folder to open", () =>
    Effect.gen(function* () {
      const { client, services } = yield* setUp
      yield* Effect.promise(async () => {
        const session = await AgentHostSession.create(client, agentId, "/home/user/sam")
        assert.deepStrictEqual(session.state["workingDirectories"], ["file:///home/user/sam"])
        for (const text of ["hello", "hello?"]) {
          const turnId = await session.prompt(text)
          const { action } = await client.action(
            ({ action }) => action.type === "chat/error" && action["turnId"] === turnId
          )
          assert.deepStrictEqual(action["part"], {
            kind: "error",
            error: {
              errorType: "refused",
              message: `/home/user/sam is not a workspace of this connection. Open ${folder} in the editor.`
            }
          })
        }
        assert.lengthOf(services.sent, 0)
      })
    })
  )

  it.live("the folder of each workspace that the editor can open, if there are several", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const workspaces = Effect.map(backend.workspaces, (all) => [
        ...all,
        ...all.map((each) => ({ ...each, id: "site" as WorkspaceId, folder: "/home/user/site" })) // an id of any text
      ])
      const server = yield* serveHost(() => ({ ...backend, workspaces }))
      const client = yield* server.open()
      yield* Effect.promise(async () => {
        for (const directory of ["/home/user", "/home/user/another"]) {
          const session = await AgentHostSession.create(client, agentId, directory)
          const turnId = await session.prompt("hello")
          const { action } = await client.action(
            ({ action }) => action.type === "chat/error" && action["turnId"] === turnId
          )
          assert.include(
            JSON.stringify(action["part"]),
            `${directory} is not a workspace of this connection. Open ${folder} or /home/user/site in the editor.`
          )
        }
        const session = await AgentHostSession.create(client, agentId, "/home/user/site/src")
        await session.prompt("hello")
        assert.deepStrictEqual(
          services.sent.map(({ workspace }) => workspace),
          ["site"]
        )
      })
    })
  )

  it.live("messages of the root without a channel, and notifications that the host does not know", () =>
    Effect.gen(function* () {
      const { server } = yield* setUp
      const client = yield* server.connect()
      const bare = { channel: undefined, clientId: "bare" }
      yield* Effect.promise(async () => {
        await client.call("initialize", { ...bare, protocolVersions: ["0.9.0"] })
        client.notify("setClientManagedSettingsPermissions", { permissions: {} })
        client.notify("unknown", {})
        await client.call("ping")
      })
      const again = yield* server.connect()
      yield* Effect.promise(async () => {
        await again.call("reconnect", { ...bare, lastSeenServerSeq: 0, subscriptions: [] })
        await again.call("ping")
      })
    })
  )

  it.live("every action echoed with its origin, and a mode that the next turn has", () =>
    Effect.gen(function* () {
      const { client, services } = yield* setUp
      const session = `${agentId}:/${crypto.randomUUID()}`
      const chat = chatAddress(session)
      yield* Effect.promise(async () => {
        await client.call("createSession", { provider: agentId }, session)
        await client.subscribe(session)
        await client.subscribe(chat)
        const wrong = await client.perform(session, {
          type: "session/configChanged",
          config: { corralMode: "full_access" }
        })
        assert.strictEqual(wrong.rejectionReason, "This choice is not offered.")
        const echo = await client.perform(session, {
          type: "session/configChanged",
          config: { corralMode: "plan" }
        })
        assert.isUndefined(echo.rejectionReason)
        await client.perform(chat, {
          type: "chat/turnStarted",
          turnId: "t",
          startedAt: "2026-11-29T10:00:00.000Z",
          message: { text: "go", origin: { kind: "user" }, model: { id: "default" } }
        })
      })
      assert.deepStrictEqual(
        services.sent.map(({ mode, model, text }) => ({ mode, model, text })),
        [{ mode: "plan", model: undefined, text: "go" }]
      )
    })
  )

  it.live("attached files under the path that the agent has for them", () =>
    Effect.gen(function* () {
      const { chat, client, services, session } = yield* setUp
      yield* Effect.promise(() => client.subscribe(chat))
      const file = "0123456789abcdef0123456789abcdef"
      const changed = contentAddress({ session, file, side: "after" }, "docs/READ ME.md")
      const wrapped = changed.replace("corral-change://after", "vscode-agent-host://local")
      const ofOther = contentAddress(
        { session: `${agentId}:/00000000-0000-4000-8000-000000000001`, file, side: "after" },
        "secret.md"
      )
      const uris = [
        `vscode-remote://127.0.0.1:45259${folder}/notes.txt`,
        `file://${folder}/docs/a%20b.md`,
        `vscode-agent-host://local${folder}/src/main.ts?_ah%3DeyJzY2hlbWUiOiJmaWxlIn0`,
        `file://${folder}`,
        changed,
        `${wrapped}?_ah%3DeyJzY2hlbWUiOiJjb3JyYWwtY2hhbmdlIn0`,
        ofOther,
        "file:///etc/passwd",
        `file://${folder}-other/a.txt`,
        `file://${folder}/%2e%2e/a.txt`,
        `file://${folder}/a%0Ab.txt`,
        `https://example.com${folder}/page.html`,
        "no address"
      ]
      const attachments = uris.map((uri, at) => ({ type: "resource", label: `file ${at}`, uri }))
      const message = { text: "Read these", origin: { kind: "user" }, attachments }
      yield* Effect.promise(() => client.perform(chat, { type: "chat/turnStarted", turnId: "t", message }))
      const notSent = [6, 7, 8, 9, 10, 11, 12].map(
        (at) => `- file ${at} (not sent: only files of the workspace can be attached)`
      )
      assert.deepStrictEqual(services.sent[0]?.text.split("\n"), [
        "Read these",
        "",
        "Attached:",
        "- notes.txt",
        "- docs/a b.md",
        "- src/main.ts",
        "- .",
        "- docs/READ ME.md",
        "- docs/READ ME.md",
        ...notSent
      ])
    })
  )

  it.live("a line in the next turn that a checkpoint was not restored", () =>
    Effect.gen(function* () {
      const { chat, client, id, services } = yield* setUp
      services.emit(services.newRun(id, "one"), "run.completed", { text: "done" })
      yield* Effect.promise(() => client.subscribe(chat))
      const message = { text: "two", origin: { kind: "user" } }
      const state = yield* Effect.promise(async () => {
        // It sends the first with the message that follows the checkpoint, and sends it again with each later one.
        for (let n = 0; n < 2; n++) {
          const truncated = await client.perform(chat, { type: "chat/truncated" })
          assert.strictEqual(truncated.rejectionReason, "What has happened cannot be removed.")
        }
        await client.perform(chat, { type: "chat/turnStarted", turnId: "t", message })
        return client.subscribe(chat)
      })
      const { responseParts } = Object(state["activeTurn"]) as {
        readonly responseParts: ReadonlyArray<Fields>
      }
      assert.lengthOf(state["turns"] as ReadonlyArray<unknown>, 1)
      assert.deepStrictEqual(
        responseParts.map(({ content }) => String(content).trim()),
        [
          "*No checkpoint was restored: the files are unchanged, and the agent has the whole conversation. Take changes back with `corral undo`, or in the console.*"
        ]
      )
    })
  )

  it.live("activity that is cleared with null", () =>
    Effect.gen(function* () {
      const { chat, client, id, services } = yield* setUp
      yield* Effect.promise(() => client.subscribe(chat))
      const run = services.newRun(id, "serve")
      services.emit(run, "run.work.started", { workId: "w", kind: "command", title: "npm run dev" })
      services.emit(run, "run.turn.ended", { turn: 1, outstanding: 1 })
      services.emit(run, "run.work.ended", { workId: "w", state: "completed" })
      const [first, last] = yield* Effect.promise(async () => [
        await client.action(
          ({ action }) => action.type === "chat/activityChanged" && action["activity"] !== null
        ),
        await client.action(
          ({ action }) => action.type === "chat/activityChanged" && action["activity"] === null
        )
      ])
      assert.strictEqual(first?.action["activity"], "Working in the background: 1 (npm run dev)")
      assert.isAbove(last?.serverSeq ?? 0, first?.serverSeq ?? 0)
    })
  )

  it.live("older turns by their cursor", () =>
    Effect.gen(function* () {
      const { chat, client, id, services } = yield* setUp
      for (let n = 0; n < 24; n++)
        services.emit(services.newRun(id, `turn ${n}`), "run.completed", { text: "done" })
      const state = yield* Effect.promise(() => client.subscribe(chat))
      assert.strictEqual((state["turns"] as ReadonlyArray<unknown>).length, 20)
      const wrong = yield* Effect.promise(() => client.refusal("fetchTurns", { cursor: "x" }, chat))
      assert.strictEqual(wrong.code, -32602)
      yield* Effect.promise(() => client.call("fetchTurns", { cursor: state["turnsNextCursor"] }, chat))
      const loaded = yield* Effect.promise(() => client.action("chat/turnsLoaded"))
      const texts = (
        loaded.action["turns"] as ReadonlyArray<{ readonly message: { readonly text: string } }>
      ).map(({ message }) => message.text)
      assert.deepStrictEqual(texts, ["turn 0", "turn 1", "turn 2", "turn 3"])
    })
  )
})

const approvalId = "apr_01K0000000000000000000000A" as ApprovalId // has the shape
const request: ApprovalRequest = {
  action: "write",
  risk: "low",
  title: "Write notes.txt",
  callId: "c1",
  editable: false,
  scopes: ["once"]
}

/** A confirmation that waits, and what a client sends for it. */
const withConfirmation = Effect.gen(function* () {
  const context = yield* setUp
  const { chat, client, id, services } = context
  yield* Effect.promise(() => client.subscribe(chat))
  const run = services.newRun(id, "write")
  services.emit(run, "run.approval.requested", {
    approvalId,
    request,
    expiresAt: "2026-12-01T00:00:00.000Z"
  })
  const { action } = yield* Effect.promise(() =>
    client.action(({ action }) => action.type === "chat/toolCallReady" && action["options"] !== undefined)
  )
  const { toolCallId, turnId } = action
  const confirm = (more: Fields, by = client) =>
    Effect.promise(() =>
      by.perform(chat, {
        type: "chat/toolCallConfirmed",
        turnId,
        toolCallId,
        approved: true,
        confirmed: "user-action",
        ...more
      })
    )
  const lines = Effect.map(
    Effect.promise(() => client.subscribe(chat)),
    (state) =>
      (Object(state["activeTurn"]).responseParts as ReadonlyArray<Fields>).flatMap(({ content, kind }) =>
        kind === "markdown" ? [String(content).trim()] : []
      )
  )
  const stop = Effect.promise(() =>
    client.perform(chat, { type: "chat/turnCancelled", turnId: String(turnId), duration: 5 })
  )
  return { ...context, confirm, lines, run, stop }
})

const offline = () => new TargetOffline({ details: { targetId: "dev_1" } })
const CHOSEN = { selectedOptionId: `${approvalId}/allow_once` }

describe("a confirmation", () => {
  it.live("allows nothing without an option, and one line says so", () =>
    Effect.gen(function* () {
      const { confirm, lines, services } = yield* withConfirmation
      for (let n = 0; n < 3; n++)
        assert.strictEqual(
          (yield* confirm({})).rejectionReason,
          "Choose an option. An approval without one allows nothing."
        )
      assert.deepStrictEqual(services.decided, [])
      assert.deepStrictEqual(yield* lines, ["*Choose an option. An approval without one allows nothing.*"])
      assert.isUndefined((yield* confirm(CHOSEN)).rejectionReason)
      assert.lengthOf(services.decided, 1)
    })
  )

  it.live("denies without an option", () =>
    Effect.gen(function* () {
      const { confirm, services } = yield* withConfirmation
      const denied = yield* confirm({ approved: false, confirmed: undefined, reason: "denied" })
      assert.isUndefined(denied.rejectionReason)
      assert.deepStrictEqual(
        services.decided.map(({ decision }) => decision),
        ["deny"]
      )
    })
  )

  // As VS Code does for a person who stops a turn: it approves what it no longer shows.
  it.live("allows nothing in a window that has stopped the turn, even if the stop failed", () =>
    Effect.gen(function* () {
      const { chat, confirm, lines, server, services, stop } = yield* withConfirmation
      services.stopRefusal = offline()
      const { rejectionReason } = yield* stop
      assert.strictEqual(
        rejectionReason,
        "Not stopped. The device is disconnected. Try again after it reconnects."
      )
      for (const more of [{}, CHOSEN]) assert.isDefined((yield* confirm(more)).rejectionReason)
      assert.deepStrictEqual(services.decided, [])
      const other = yield* server.open()
      yield* Effect.promise(() => other.subscribe(chat))
      assert.isUndefined((yield* confirm(CHOSEN, other)).rejectionReason)
      assert.lengthOf(services.decided, 1)
      // The approval that VS Code sends by itself has no line.
      assert.deepStrictEqual((yield* lines).slice(0, 2), [
        "*Not stopped. The device is disconnected. Try again after it reconnects.*",
        "*This window has stopped the turn and allows nothing in it. Allow it in the console or in another window, or deny it.*"
      ])
    })
  )

  it.live("denies in a window that has stopped the turn", () =>
    Effect.gen(function* () {
      const { confirm, services, stop } = yield* withConfirmation
      services.stopRefusal = offline()
      yield* stop
      const denied = yield* confirm({ approved: false, confirmed: undefined, reason: "denied" })
      assert.isUndefined(denied.rejectionReason)
      assert.lengthOf(services.decided, 1)
    })
  )

  it.live(
    "that waits when a person sends a message does not refuse the message before the end of the run is there",
    () =>
      Effect.gen(function* () {
        const { chat, client, services, stop } = yield* withConfirmation
        // Sent after the message, and answered before the run ends.
        services.stopping = () => client.call("listSessions")
        const message = { text: "Do something else", origin: { kind: "user" } }
        const [stopped, started] = yield* Effect.all(
          [
            stop,
            Effect.promise(() => client.perform(chat, { type: "chat/turnStarted", turnId: "next", message }))
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([stopped.rejectionReason, started.rejectionReason], [undefined, undefined])
        assert.deepStrictEqual(
          services.sent.map(({ text }) => text),
          ["Do something else"]
        )
      })
  )

  // As VS Code does for a message that is sent while a confirmation waits.
  it.live("that waits when a person sends a message ends with its run, and the next turn says so", () =>
    Effect.gen(function* () {
      const { chat, client, confirm, run, services, stop, lines } = yield* withConfirmation
      const message = { text: "Do something else", origin: { kind: "user" } }
      const [stopped, confirmed, started] = yield* Effect.all(
        [
          stop,
          confirm({}),
          Effect.promise(() => client.perform(chat, { type: "chat/turnStarted", turnId: "next", message }))
        ],
        { concurrency: "unbounded" }
      )
      assert.isUndefined(stopped.rejectionReason)
      assert.isDefined(confirmed.rejectionReason)
      assert.isUndefined(started.rejectionReason)
      assert.deepStrictEqual([services.cancelled, services.decided], [[run], []])
      assert.deepStrictEqual(
        services.sent.map(({ text }) => text),
        ["Do something else"]
      )
      yield* Effect.promise(() =>
        client.action(
          ({ action }) =>
            action.type === "chat/responsePart" &&
            action["turnId"] === "next" &&
            JSON.stringify(action["part"]).includes("Stopped by this window")
        )
      )
      assert.deepStrictEqual(yield* lines, [
        "*Stopped by this window while a decision waited: Write notes.txt. The editor also stops a run for a message during a decision.*"
      ])
    })
  )
})
