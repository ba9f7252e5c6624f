/** Memory and connections of hostile clients: what one client, and one user, can make the host keep. */
import type { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import { Conflict } from "@corral/domain/errors/Failures"
import { type AgentHostClient, ROOT } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { once } from "node:events"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { WebSocket } from "ws"
import type { ActionEnvelope } from "../../src/protocol/Actions.ts"
import { chatAddress, sessionAddress } from "../../src/protocol/Addresses.ts"
import { MAX_BYTES, ReplayLog } from "../../src/host/ReplayLog.ts"
import { serveHost, servedSession } from "../HostServer.ts"
import { agentId, MemoryServices, person } from "../MemoryServices.ts"

/** Node gives a program the collector only by a flag. */
const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
}

const draft = (text: string) => ({
  type: "chat/draftChanged",
  draft: { text, origin: { kind: "user" } }
})

const reasonFor = (
  client: AgentHostClient,
  channel: string,
  action: Readonly<Record<string, unknown>> & { readonly type: string }
) => Effect.promise(async () => (await client.perform(channel, action)).rejectionReason)

describe("the log of a client", () => {
  it("does not keep in memory what has left it", async () => {
    const log = new ReplayLog(0)
    const add = () => {
      const envelope: ActionEnvelope = {
        channel: ROOT,
        action: { type: "root/activeSessionsChanged", activeSessions: 1 },
        serverSeq: log.next()
      }
      log.add(envelope, MAX_BYTES / 2)
      return new WeakRef(envelope)
    }
    const added = [add(), add(), add(), add(), add()]
    // A WeakRef is emptied between two turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    assert.deepStrictEqual(
      added.map((each) => each.deref() !== undefined),
      [false, false, false, true, true]
    )
  })
})

describe("a client that begins again", () => {
  it.live("has one connection: the older one is closed, and so serves nothing", () =>
    Effect.gen(function* () {
      const { server } = yield* servedSession
      const first = yield* server.open("/", { clientId: "window" })
      const second = yield* server.open("/", { clientId: "window" })
      assert.strictEqual((yield* Effect.promise(() => first.closed)).code, 1000)
      yield* Effect.promise(() => second.call("ping"))
    })
  )

  it.live("follows nothing for the subscription that was in progress", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const reading = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const slow: typeof backend = {
        ...backend,
        runs: (chat) =>
          Effect.andThen(
            Deferred.succeed(reading, undefined),
            Effect.andThen(Deferred.await(gate), backend.runs(chat))
          )
      }
      const server = yield* serveHost(() => slow)
      const id = services.newSession()
      const run = services.newRun(id, "count")
      const first = yield* server.open("/", { clientId: "window" })
      first.send({
        jsonrpc: "2.0",
        id: 99,
        method: "subscribe",
        params: { channel: chatAddress(sessionAddress(agentId, id)) }
      })
      yield* Deferred.await(reading)
      const second = yield* server.open("/", { clientId: "window" })
      yield* Deferred.succeed(gate, undefined)
      for (let n = 0; n < 5; n++) yield* Effect.promise(() => second.call("ping"))
      assert.strictEqual(services.runs.get(run)?.readers.size, 0)
    })
  )
})

describe("a client that cannot start", () => {
  it.live("follows nothing", () =>
    Effect.gen(function* () {
      const { backend } = new MemoryServices().connect()
      let following = 0
      const hints = Stream.unwrap(
        Effect.map(
          Effect.acquireRelease(
            Effect.sync(() => following++),
            () => Effect.sync(() => following--)
          ),
          () => backend.hints
        )
      )
      const workspaces = Effect.fail(new Conflict({ message: "Not now." }))
      const server = yield* serveHost(() => ({ ...backend, hints, workspaces }))
      const client = yield* server.connect()
      const begin = { protocolVersions: ["0.9.0"], clientId: "window" }
      const { code } = yield* Effect.promise(() => client.refusal("initialize", begin))
      assert.strictEqual(code, -32011)
      // The connection is open: the client can try again.
      yield* Effect.promise(() => client.refusal("initialize", { ...begin, clientId: "another" }))
      assert.strictEqual(following, 0)
    })
  )
})

describe("a client that sends without waiting", () => {
  it.live("is closed if its actions that wait are too large together", () =>
    Effect.gen(function* () {
      const { chat, server, services } = yield* servedSession
      services.answering = new Promise(() => undefined)
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(chat))
      const message = {
        text: "x",
        origin: { kind: "user" },
        attachments: [{ type: "simple", label: "y".repeat(900_000) }]
      }
      for (let n = 0; n < 12; n++)
        client.dispatch(chat, { type: "chat/turnStarted", turnId: `turn-${n}`, message })
      const { code, reason } = yield* Effect.promise(() => client.closed)
      assert.deepStrictEqual([code, reason], [1008, "too many actions wait"])
    })
  )

  it.live("keeps drafts and descriptions of itself only up to a bound for all of its channels", () =>
    Effect.gen(function* () {
      const { server, services } = yield* servedSession
      const client = yield* server.open()
      const activeClient = { clientId: client.clientId, tools: [{ name: "x".repeat(600_000) }] }
      const reasons: Array<string | undefined> = []
      for (let n = 0; n < 8; n++) {
        const session = sessionAddress(agentId, services.newSession())
        const chat = chatAddress(session)
        yield* Effect.promise(() => client.subscribe(session))
        yield* Effect.promise(() => client.subscribe(chat))
        reasons.push(
          yield* reasonFor(client, session, { type: "session/activeClientSet", activeClient }),
          yield* reasonFor(client, chat, draft("x".repeat(200_000)))
        )
      }
      assert.deepStrictEqual(reasons.slice(0, 2), [undefined, undefined])
      for (const reason of reasons.slice(-2)) assert.isDefined(reason)
    })
  )

  it.live("a draft that replaces another one, or whose chat was left, makes room", () =>
    Effect.gen(function* () {
      const { server, services } = yield* servedSession
      const client = yield* server.open()
      for (let n = 0; n < 25; n++) {
        const chat = chatAddress(sessionAddress(agentId, services.newSession()))
        yield* Effect.promise(() => client.subscribe(chat))
        for (const text of ["a", "b"])
          assert.isUndefined(yield* reasonFor(client, chat, draft(text.repeat(200_000))))
        client.notify("unsubscribe", { channel: chat })
      }
    })
  )

  it.live("fills no turn with refusals of its decisions and answers", () =>
    Effect.gen(function* () {
      const { chat, id, server, services } = yield* servedSession
      const run = services.newRun(id, "Go")
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(chat))
      services.emit(run, "run.approval.requested", {
        approvalId: "apr_01K0000000000000000000000A" as ApprovalId, // has the shape
        request: {
          action: "shell",
          risk: "low",
          title: "Run",
          callId: "c",
          editable: false,
          scopes: ["once"]
        },
        expiresAt: "2026-12-01T00:00:00.000Z"
      })
      services.emit(run, "run.input.requested", {
        inputId: "inq_01K0000000000000000000000A" as InputRequestId, // the same
        request: { kind: "question", title: "Q", questions: [{ id: "q", text: "Which?", kind: "text" }] }
      })
      const question = yield* Effect.promise(() => client.action("chat/inputRequested"))
      let requestId = Object(question.action["request"]).id
      for (let n = 0; n < 150; n++) {
        const confirm = {
          type: "chat/toolCallConfirmed",
          turnId: `${run}.1`,
          toolCallId: `${run}/c`,
          approved: true
        }
        assert.isDefined(yield* reasonFor(client, chat, { ...confirm, selectedOptionId: "none" }))
        yield* reasonFor(client, chat, { type: "chat/inputCompleted", requestId, response: "cancel" })
        const last = client.actions.findLast(({ action }) => action.type === "chat/inputRequested")
        requestId = Object(last?.action["request"]).id
      }
      const { activeTurn } = yield* Effect.promise(() => client.subscribe(chat))
      const { responseParts } = activeTurn as { readonly responseParts: ReadonlyArray<unknown> }
      assert.isBelow(responseParts.length, 250)
    })
  )

  it.live("is closed if it sends pings and reads no answers", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const server = yield* serveHost(() => backend, { maxBuffered: 65_536 })
      const socket = new WebSocket(server.url)
      socket.on("error", () => undefined)
      yield* Effect.promise(() => once(socket, "open"))
      socket.pause()
      const closed = once(socket, "close")
      const payload = "x".repeat(125)
      // More than the buffers of the sockets hold.
      for (let n = 0; n < 200_000 && socket.readyState === WebSocket.OPEN; n++) {
        socket.ping(payload)
        if (n % 1_000 === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      socket.resume()
      yield* Effect.promise(() => closed)
    })
  )
})

describe("a user with many connections", () => {
  it.live("leaves room for others, also with connections for different workspaces", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const other = services.connect(person("bob"))
      const server = yield* serveHost((path) =>
        path === "/bob"
          ? other.backend
          : services.connect({ ...person("ann"), id: `sin_ann ${path}` }).backend
      )
      const codes: Array<number> = []
      for (let n = 0; n < 140; n++) {
        const client = yield* server.connect(`/${n}`)
        const { error } = yield* Effect.promise(() =>
          client.request("initialize", { protocolVersions: ["0.9.0"], clientId: "c" }, ROOT)
        )
        codes.push(error?.code ?? 0)
      }
      assert.strictEqual(codes[0], 0)
      assert.strictEqual(codes.at(-1), -32011)
      yield* server.open("/bob")
    })
  )

  it.live("a connection that does not begin is closed", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const server = yield* serveHost(() => backend, { beginWithinMs: 0 })
      const client = yield* server.connect()
      assert.strictEqual((yield* Effect.promise(() => client.closed)).code, 1008)
    })
  )
})
