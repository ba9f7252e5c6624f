/** Lost connections: what is replayed, what is not, and that nothing is lost or comes twice. */
import type { RunId } from "@corral/domain/identity/Ids"
import { AgentHostClient, type ReceivedAction, ROOT } from "@corral/testing/editor/AgentHostClient"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress, sessionAddress } from "../../src/protocol/Addresses.ts"
import type { ActionEnvelope } from "../../src/protocol/Actions.ts"
import { MAX_ENTRIES, ReplayLog } from "../../src/host/ReplayLog.ts"
import { serveHost, servedSession } from "../HostServer.ts"
import { agentId, MemoryServices, person } from "../MemoryServices.ts"

const setUp = Effect.gen(function* () {
  const served = yield* servedSession
  return { ...served, run: served.services.newRun(served.id, "count") }
})

const subscribed = Effect.fnUntraced(function* (
  { chat, server, session }: Effect.Success<typeof setUp>,
  clientId?: string
) {
  const client = yield* server.open("/", clientId === undefined ? {} : { clientId })
  yield* Effect.promise(() => client.subscribe(session))
  yield* Effect.promise(() => client.subscribe(chat))
  return client
})

const emitText = (services: MemoryServices, run: RunId, text: string): void =>
  services.emit(run, "run.message.delta", { messageId: "m", channel: "text", text })

const textOf = (actions: ReadonlyArray<ReceivedAction>): string =>
  actions
    .map(({ action }) => {
      const { content, part } = action as {
        readonly content?: string
        readonly part?: { readonly content?: string }
      }
      return content ?? part?.content ?? ""
    })
    .join("")

const lost = (client: AgentHostClient) =>
  Effect.promise(async () => {
    client.drop()
    await client.closed
  })

/** A client whose connection was lost after a first text, and its next connection. */
const reconnected = Effect.fnUntraced(function* (context: Effect.Success<typeof setUp>) {
  const client = yield* subscribed(context)
  emitText(context.services, context.run, "1 ")
  yield* Effect.promise(() => client.action("chat/responsePart"))
  const { clientId, lastSeq } = client
  yield* lost(client)
  const again = yield* context.server.connect("/", { clientId })
  const reconnect = (subscriptions: ReadonlyArray<string>) =>
    Effect.promise(() => again.call("reconnect", { clientId, lastSeenServerSeq: lastSeq, subscriptions }))
  return { again, client, lastSeq, reconnect }
})

describe("a lost connection", () => {
  it.live("is answered with a replay of what came meanwhile, once and in order", () =>
    Effect.gen(function* () {
      const context = yield* setUp
      const { chat, run, services, session } = context
      const { again, client, lastSeq, reconnect } = yield* reconnected(context)
      emitText(services, run, "2 ")
      emitText(services, run, "3 ")
      const result = (yield* reconnect([ROOT, session, chat])) as unknown as {
        readonly type: string
        readonly actions: ReadonlyArray<ReceivedAction>
        readonly missing: unknown
      }
      assert.strictEqual(result.type, "replay")
      assert.deepStrictEqual(result.missing, [])
      emitText(services, run, "4 ")
      yield* Effect.promise(() => again.action(({ action }) => action["content"] === "4 "))
      assert.strictEqual(textOf([...client.actions, ...result.actions, ...again.actions]), "1 2 3 4 ")
      for (const [index, { serverSeq }] of result.actions.entries())
        assert.isAbove(serverSeq, result.actions[index - 1]?.serverSeq ?? lastSeq)
    })
  )

  it.live("a subscription that cannot continue is missing", () =>
    Effect.gen(function* () {
      const context = yield* setUp
      const { reconnect } = yield* reconnected(context)
      const unknownSession = "claude-code:/00000000-0000-4000-8000-000000000000"
      const { missing } = yield* reconnect([context.session, context.chat, unknownSession])
      assert.deepStrictEqual(missing, [unknownSession])
    })
  )

  it.live("what is older than the log is answered with snapshots", () =>
    Effect.gen(function* () {
      const context = yield* setUp
      const { chat, server, session } = context
      const client = yield* subscribed(context)
      yield* lost(client)
      const { clientId } = client
      const again = yield* server.connect("/", { clientId })
      const { snapshots, type } = yield* Effect.promise(() =>
        again.call("reconnect", { clientId, lastSeenServerSeq: 0, subscriptions: [session, chat] })
      )
      assert.strictEqual(type, "snapshot")
      const shown = snapshots as ReadonlyArray<{ readonly resource: string }>
      assert.sameMembers(
        shown.map(({ resource }) => resource),
        [ROOT, session, chat]
      )
    })
  )

  it.live("a client that the process does not know begins again", () =>
    Effect.gen(function* () {
      const { server } = yield* setUp
      const client = yield* server.connect()
      const unknown = yield* Effect.promise(() =>
        client.refusal("reconnect", { clientId: "another", lastSeenServerSeq: 3, subscriptions: [] })
      )
      assert.strictEqual(unknown.code, -32008)
      yield* Effect.promise(() => client.initialize())
    })
  )

  it.live("a client id of another sign-in is another client", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const ann = services.connect(person("ann"))
      const bob = services.connect(person("bob"))
      const server = yield* serveHost((path) => (path === "/bob" ? bob.backend : ann.backend))
      const client = yield* server.open("/ann", { clientId: "shared" })
      const other = yield* server.connect("/bob", { clientId: "shared" })
      const refused = yield* Effect.promise(() =>
        other.refusal("reconnect", {
          clientId: "shared",
          lastSeenServerSeq: client.lastSeq,
          subscriptions: [ROOT]
        })
      )
      assert.strictEqual(refused.code, -32008)
      yield* Effect.promise(() => other.initialize())
      // The first one is still served.
      yield* Effect.promise(() => client.call("ping"))
    })
  )

  it.live("numbers begin at the microseconds of the start, above those of an earlier process", () =>
    Effect.gen(function* () {
      const before = Date.now() * 1_000
      const { server } = yield* setUp
      const client = yield* server.connect()
      const { serverSeq } = yield* Effect.promise(() => client.initialize())
      assert.isAtLeast(Number(serverSeq), before)
    })
  )

  it.live("a turn that is sent again has begun already", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const server = yield* serveHost(() => backend)
      const client = yield* server.open()
      const session = `${agentId}:/${crypto.randomUUID()}`
      const chat = chatAddress(session)
      const prompt = {
        type: "chat/turnStarted",
        turnId: "turn-1",
        startedAt: "2026-11-29T10:00:00.000Z",
        message: { text: "hello", origin: { kind: "user" } }
      }
      yield* Effect.promise(async () => {
        await client.call("createSession", { provider: agentId }, session)
        await client.subscribe(chat)
        const echo = await client.perform(chat, prompt)
        assert.isUndefined(echo.rejectionReason)
        const repeated = await client.perform(chat, prompt)
        assert.strictEqual(repeated.rejectionReason, "The turn has begun already.")
      })
      assert.strictEqual(services.sent.length, 1)
    })
  )
})

describe("ReplayLog", () => {
  const entry = (serverSeq: number): ActionEnvelope => ({
    channel: ROOT,
    action: { type: "root/activeSessionsChanged", activeSessions: serverSeq },
    serverSeq
  })

  it("is bounded, and knows what it no longer has", () => {
    const log = new ReplayLog(1_000)
    for (let n = 0; n < MAX_ENTRIES + 50; n++) log.add(entry(log.next()), 100)
    const channels = new Set([ROOT])
    assert.isUndefined(log.after(1_000, channels))
    assert.isUndefined(log.after(1_049, channels))
    assert.strictEqual(log.after(1_050, channels)?.length, MAX_ENTRIES)
    assert.deepStrictEqual(log.after(log.seq, channels), [])
    assert.isUndefined(log.after(log.seq + 1, channels))
  })

  it("has only what belongs to the channels", () => {
    const log = new ReplayLog(0)
    log.add(entry(log.next()), 1)
    log.add({ ...entry(log.next()), channel: "other:/1" }, 1)
    assert.deepStrictEqual(
      log.after(0, new Set(["other:/1"]))?.map(({ serverSeq }) => serverSeq),
      [2]
    )
  })
})

describe("a client", () => {
  it.live("is closed if it reads too slowly", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const server = yield* serveHost(() => backend, { maxBuffered: 65_536 })
      const id = services.newSession()
      const chat = chatAddress(sessionAddress(agentId, id))
      const run = services.newRun(id, "count")
      const client = yield* server.open()
      yield* Effect.promise(() => client.subscribe(chat))
      client.pause()
      // More than the buffers of the sockets hold.
      const text = "x".repeat(100_000)
      for (let n = 0; n < 400; n++) {
        emitText(services, run, text)
        yield* Effect.yieldNow
      }
      client.resume()
      const { code } = yield* Effect.promise(() => client.closed)
      assert.include([1006, 1013], code)
    })
  )

  it.live("cannot continue after it was away for long", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const { backend } = services.connect()
      const server = yield* serveHost(() => backend, { keepMs: 0 })
      const first = yield* server.open()
      const { clientId } = first
      yield* lost(first)
      const refused = yield* Effect.promise(() =>
        until(async () => {
          const client = await AgentHostClient.connect(server.url, { clientId })
          if (!(client instanceof AgentHostClient)) throw new Error("the upgrade was refused")
          const answer = await client.request(
            "reconnect",
            { clientId, lastSeenServerSeq: first.lastSeq, subscriptions: [ROOT] },
            ROOT
          )
          client.drop()
          return answer.error
        }, "the end of the client")
      )
      assert.strictEqual(refused.code, -32008)
    })
  )
})
