/** What the workbench of VS Code 1.139 needs from a host, as it was observed there. */
import { ROOT } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress } from "../../src/protocol/Addresses.ts"
import { servedSession } from "../HostServer.ts"
import { agentId, folder } from "../MemoryServices.ts"

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
