/** Rights that end while a client is connected or away, and addresses of what the connection does not show. */
import {
  type Failure,
  PermissionDenied,
  TargetOffline,
  UnauthorizedTarget
} from "@corral/domain/errors/Failures"
import type { ApprovalId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { ROOT } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress, contentAddress, sessionAddress } from "../../src/protocol/Addresses.ts"
import { serveHost, servedSession } from "../HostServer.ts"
import { agentId, MemoryServices } from "../MemoryServices.ts"

const prompt = (turnId: string, text: string) => ({
  type: "chat/turnStarted",
  turnId,
  startedAt: "2026-11-29T10:00:00.000Z",
  message: { text, origin: { kind: "user" } }
})

/** A session with two agents. */
const withTwoChats = (services: MemoryServices): SessionId => {
  const id = services.newSession()
  const [first] = services.sessions.get(id)?.chats ?? []
  if (first === undefined) throw new Error("the session has no chat")
  services.changeSession(id, { chats: [first, { ...first, id: `${id}-2`, title: "Another" }] })
  return id
}

describe("a chat whose agent has left the session", () => {
  it.live("gives no message to another agent", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const server = yield* serveHost(() => backend)
      const id = withTwoChats(services)
      const session = sessionAddress(agentId, id)
      const second = chatAddress(session, `${id}-2`)
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(session))
      yield* Effect.promise(() => client.subscribe(second))
      const [first] = services.sessions.get(id)?.chats ?? []
      if (first === undefined) return assert.fail("the session has no chat")
      services.changeSession(id, { chats: [first] })
      yield* Effect.promise(() => client.action("session/chatRemoved"))
      yield* Effect.promise(() => client.perform(second, prompt("turn-1", "For the second agent only")))
      assert.notInclude(
        services.sent.map(({ chatId }) => chatId),
        first.id
      )
    })
  )
})

describe("a right that ends while the client is away", () => {
  it.live("ends the replay: nothing of the session is sent again", () =>
    Effect.gen(function* () {
      const { chat, id, server, services, session } = yield* servedSession
      const run = services.newRun(id, "count")
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(session))
      yield* Effect.promise(() => client.subscribe(chat))
      services.emit(run, "run.message.delta", { messageId: "m", channel: "text", text: "Plans" })
      yield* Effect.promise(() => client.action("chat/responsePart"))
      const { clientId, lastSeq } = client
      client.drop()
      yield* Effect.promise(() => client.closed)
      const watcher = yield* server.open()
      yield* Effect.promise(() => watcher.subscribe(chat))
      services.emit(run, "run.message.delta", { messageId: "m", channel: "text", text: "Secret plans" })
      yield* Effect.promise(() => watcher.action("chat/delta"))
      services.removeSession(id)
      // A later change of another session: the host has read the earlier one.
      services.newSession()
      yield* Effect.promise(() =>
        watcher.notification("root/sessionAdded", ({ summary }) => Object(summary).resource !== session)
      )
      const again = yield* server.connect("/", { clientId })
      const answer = yield* Effect.promise(() =>
        again.call("reconnect", {
          clientId,
          lastSeenServerSeq: lastSeq,
          subscriptions: [ROOT, session, chat]
        })
      )
      assert.notInclude(JSON.stringify(answer), "Secret plans")
      assert.deepStrictEqual(answer["missing"], [session, chat])
    })
  )
})

describe("a refusal", () => {
  const waiting = Effect.gen(function* () {
    const services = new MemoryServices()
    const connected = services.connect()
    const server = yield* serveHost(() => connected.backend)
    const id = services.newSession()
    const chat = chatAddress(sessionAddress(agentId, id))
    const client = yield* server.open()
    yield* Effect.promise(() => client.subscribe(chat))
    const refusalOf = Effect.fnUntraced(function* (failure: Failure) {
      services.refusal = failure
      const turnId = crypto.randomUUID()
      client.dispatch(chat, prompt(turnId, "Go"))
      const { action } = yield* Effect.promise(() =>
        client.action(
          (each) => each.action.type === "chat/error" && each.action["turnId"] === turnId,
          "the refused turn"
        )
      )
      return Object(action["part"]).error.message
    })
    return { services, connected, server, client, id, chat, refusalOf }
  })

  it.live("says what to do about the device", () =>
    Effect.gen(function* () {
      const { refusalOf } = yield* waiting
      const details = { targetId: "dev_1" }
      assert.strictEqual(
        yield* refusalOf(new TargetOffline({ details })),
        "The device is disconnected. Try again after it reconnects."
      )
      assert.strictEqual(
        yield* refusalOf(new UnauthorizedTarget()),
        "The device is no longer available to you. Ask its owner to share it again, or use another device."
      )
      assert.strictEqual(
        yield* refusalOf(new TargetOffline({ message: "It may have executed the request.", details })),
        "It may have executed the request."
      )
    })
  )

  it.live("names the role of a viewer, also one whose right has ended during the run", () =>
    Effect.gen(function* () {
      const viewer =
        "You are a viewer of this project: you follow, and change nothing. Ask its owner for the role of a member."
      const { chat, client, connected, id, refusalOf, services } = yield* waiting
      const run = services.newRun(id, "Work")
      services.stopRefusal = new PermissionDenied()
      services.emit(run, "run.approval.requested", {
        approvalId: "apr_01K0000000000000000000000A" as ApprovalId, // has the shape
        request: { action: "write", risk: "low", title: "Write", editable: false, scopes: ["once"] },
        expiresAt: "2026-12-01T00:00:00.000Z"
      })
      const { action } = yield* Effect.promise(() =>
        client.action(({ action }) => action.type === "chat/toolCallReady" && action["options"] !== undefined)
      )
      connected.rights = { maySend: false, mayDecide: false }
      const { toolCallId, turnId } = action
      const message = { text: "Something else", origin: { kind: "user" } }
      // As VS Code does for one prompt.
      for (const sent of [
        { type: "chat/turnCancelled", turnId, duration: 1 },
        { type: "chat/toolCallConfirmed", turnId, toolCallId, approved: true, confirmed: "user-action" },
        { type: "chat/pendingMessageSet", kind: "steering", id: "m1", message },
        { type: "chat/pendingMessageSet", kind: "steering", id: "m1", message }
      ])
        assert.isDefined((yield* Effect.promise(() => client.perform(chat, sent))).rejectionReason)
      const { activeTurn } = yield* Effect.promise(() => client.subscribe(chat))
      const parts = Object(activeTurn).responseParts as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert.deepStrictEqual(
        parts.flatMap(({ content, kind }) => (kind === "markdown" ? [String(content).trim()] : [])),
        [`*Not stopped. ${viewer}*`, `*${viewer}*`]
      )
      services.emit(run, "run.completed", {})
      yield* Effect.promise(() => client.action("chat/turnComplete"))
      assert.strictEqual(yield* refusalOf(new PermissionDenied()), viewer)
      connected.rights = { maySend: true, mayDecide: true }
      assert.strictEqual(yield* refusalOf(new PermissionDenied()), "You may not do this.")
    })
  )

  it.live("of the first prompt of a session says that it may be the role", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const connected = services.connect()
      connected.rights = { maySend: false, mayDecide: false }
      const server = yield* serveHost(() => connected.backend)
      const client = yield* server.open()
      const session = `${agentId}:/${crypto.randomUUID()}`
      const { action } = yield* Effect.promise(async () => {
        await client.call("createSession", { provider: agentId }, session)
        await client.subscribe(chatAddress(session))
        client.dispatch(chatAddress(session), prompt("turn-1", "Go"))
        return client.action("chat/error")
      })
      assert.strictEqual(
        Object(action["part"]).error.message,
        "You may not do this. A viewer of a project follows only: ask its owner for the role of a member."
      )
    })
  )
})

describe("a hint that changes were missed", () => {
  it.live("is about subscriptions too, of sessions that the client has not listed", () =>
    Effect.gen(function* () {
      const { id, server, services, session } = yield* servedSession
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(session))
      const stored = services.sessions.get(id)
      if (stored === undefined) return assert.fail("there is no session")
      services.sessions.set(id, { ...stored, title: "Another title" })
      services.hint({ kind: "sessions" })
      yield* Effect.promise(() => client.action("session/titleChanged"))
    })
  )
})

describe("a session in another workspace of the same user", () => {
  it.live("is not archived, and nothing of its changes is read", () =>
    Effect.gen(function* () {
      const { id, server, services, session } = yield* servedSession
      const stored = services.sessions.get(id)
      if (stored === undefined) return assert.fail("there is no session")
      services.sessions.set(id, { ...stored, workspace: "another" as WorkspaceId }) // an id of any text
      const client = yield* server.open()
      const codes = yield* Effect.promise(async () => [
        (await client.refusal("subscribe", {}, session)).code,
        (await client.refusal("disposeSession", {}, session)).code
      ])
      assert.deepStrictEqual(codes, [-32001, -32001])
      assert.isFalse(services.sessions.get(id)?.archived)
      const uri = contentAddress({ session, file: "0".repeat(32), side: "after" }, "notes.txt")
      const ofOther = yield* Effect.promise(() => client.refusal("resourceRead", { uri }))
      const none = sessionAddress(agentId, "ses_01K0000000000000000000000Z" as SessionId) // has the shape
      const missing = yield* Effect.promise(() =>
        client.refusal("resourceRead", {
          uri: contentAddress({ session: none, file: "0".repeat(32), side: "after" }, "notes.txt")
        })
      )
      assert.deepStrictEqual(ofOther, missing)
    })
  )
})
