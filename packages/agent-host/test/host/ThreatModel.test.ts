/**
 * Minimum requirements of the protocol's threat model, each under its name, as far as the host itself fulfils them. The first two are the listeners': the contract tests
 * of Edge and Hub have them.
 */
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { type AgentHostClient, ROOT } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_MESSAGE_BYTES } from "../../src/protocol/Messages.ts"
import { servedSession } from "../HostServer.ts"
import { folder } from "../MemoryServices.ts"

const setUp = Effect.gen(function* () {
  const served = yield* servedSession
  const client = yield* served.server.open()
  const run = served.services.newRun(served.id, "hello")
  yield* Effect.promise(() => client.subscribe(served.session))
  yield* Effect.promise(() => client.subscribe(served.chat))
  return { ...served, client, run }
})

const reasonFor = (client: AgentHostClient, channel: string, action: { readonly type: string }) =>
  Effect.promise(async () => (await client.perform(channel, action)).rejectionReason)

const codeOf = (
  client: AgentHostClient,
  method: string,
  params: Readonly<Record<string, unknown>>,
  channel?: string
) => Effect.promise(async () => (await client.refusal(method, params, channel)).code)

describe("minimum requirements of the threat model", () => {
  it.live(
    "1. Authenticate before protocol use: the client id belongs to the caller, and nothing is answered before initialize",
    () =>
      Effect.gen(function* () {
        const { server } = yield* setUp
        const early = yield* server.connect()
        for (const method of ["listSessions", "subscribe", "ping", "resourceRead"])
          assert.strictEqual(yield* codeOf(early, method, { channel: ROOT, uri: "file:///" }), -32600, method)
      })
  )

  it.live("3. Make trust local: what the client says about a decision does not count", () =>
    Effect.gen(function* () {
      const { chat, client, run, services } = yield* setUp
      const approvalId = "apr_01K0000000000000000000000A" as ApprovalId // has the shape
      const allowOnce = `${approvalId}/allow_once`
      services.emit(run, "run.approval.requested", {
        approvalId,
        request: {
          action: "shell",
          risk: "high",
          title: "Run rm",
          command: "rm -r x",
          editable: false,
          scopes: ["once"]
        },
        expiresAt: "2026-12-01T00:00:00.000Z"
      })
      const ready = yield* Effect.promise(() =>
        client.action(({ action }) => action.type === "chat/toolCallReady" && action["options"] !== undefined)
      )
      const { toolCallId } = ready.action
      const confirm = { type: "chat/toolCallConfirmed", turnId: `${run}.1`, toolCallId, approved: true }
      const wrong = [
        { ...confirm, confirmed: "not-needed" },
        { ...confirm, confirmed: "setting" },
        { ...confirm, confirmed: "user-action" },
        { ...confirm, confirmed: "user-action", selectedOptionId: "allow_always" },
        { ...confirm, confirmed: "user-action", selectedOptionId: allowOnce, editedToolInput: "ls" }
      ]
      for (const action of wrong)
        assert.isDefined(yield* reasonFor(client, chat, action), JSON.stringify(action))
      assert.deepStrictEqual(services.decided, [])
    })
  )

  it.live("4. Gate token delivery: the host asks for no token and takes none", () =>
    Effect.gen(function* () {
      const { client } = yield* setUp
      const { agents } = (yield* Effect.promise(() => client.subscribe(ROOT))) as {
        readonly agents?: ReadonlyArray<object>
      }
      assert.isNotEmpty(agents)
      for (const agent of agents ?? []) assert.notProperty(agent, "protectedResources")
      assert.strictEqual(
        yield* codeOf(client, "authenticate", { resource: "https://api.example", token: "t" }),
        -32601
      )
    })
  )

  it.live("5. Constrain client tools: a client's tools are never called, and their results are refused", () =>
    Effect.gen(function* () {
      const { chat, client, run, session } = yield* setUp
      const { clientId } = client
      const activeClient = { clientId, displayName: "Editor", tools: [{ name: "run" }] }
      assert.isUndefined(
        yield* reasonFor(client, session, { type: "session/activeClientSet", activeClient } as never)
      )
      const complete = {
        type: "chat/toolCallComplete",
        turnId: `${run}.1`,
        toolCallId: "x",
        result: { success: true, pastTenseMessage: "done" }
      }
      assert.isDefined(yield* reasonFor(client, chat, complete))
    })
  )

  it.live(
    "6. Constrain resource and terminal APIs: only files of the workspaces are read, nothing is written, there are no terminals",
    () =>
      Effect.gen(function* () {
        const { client, services } = yield* setUp
        services.files.set("notes.txt", "text")
        const read = (uri: string) => codeOf(client, "resourceRead", { uri })
        const { data } = yield* Effect.promise(() =>
          client.call("resourceRead", { uri: `file://${folder}/notes.txt` })
        )
        assert.strictEqual(data, "text")
        const outside = [
          "file:///etc/passwd",
          `file://${folder}/../other/notes.txt`,
          `file://${folder}/%2e%2e/other/notes.txt`,
          `file://${folder}/%2e%2e%2fother%2fnotes.txt`,
          `file://${folder}other/notes.txt`,
          `file://host${folder}/notes.txt`,
          "https://example.com/",
          "vscode-remote://x/etc/passwd"
        ]
        for (const uri of outside) assert.strictEqual(yield* read(uri), -32009, uri)
        for (const method of [
          "resourceWrite",
          "resourceDelete",
          "resourceMove",
          "resourceCopy",
          "resourceMkdir",
          "createTerminal"
        ])
          assert.strictEqual(
            yield* codeOf(client, method, { uri: `file://${folder}/notes.txt` }),
            -32009,
            method
          )
        const config = { type: "terminal/input", data: "ls\n" }
        assert.isDefined(yield* reasonFor(client, "ahp-terminal:/1", config))
      })
  )

  it.live(
    "7. Handle multi-client ownership: a client speaks for itself only, and decisions of others cannot be repeated",
    () =>
      Effect.gen(function* () {
        const { client, session } = yield* setUp
        const other = { clientId: "another", tools: [] }
        assert.isDefined(
          yield* reasonFor(client, session, { type: "session/activeClientSet", activeClient: other } as never)
        )
        assert.isDefined(
          yield* reasonFor(client, session, {
            type: "session/activeClientRemoved",
            clientId: "another"
          } as never)
        )
      })
  )

  it.live(
    "8. Treat plugins and packages as executable: customizations and servers of a client are refused",
    () =>
      Effect.gen(function* () {
        const { client, session } = yield* setUp
        for (const type of [
          "session/customizationToggled",
          "session/mcpServerStartRequested",
          "session/customizationUpdated"
        ])
          assert.isDefined(yield* reasonFor(client, session, { type, id: "x" } as never), type)
      })
  )

  it.live("9. Validate and bound the protocol: messages, their depth, their rate and subscriptions", () =>
    Effect.gen(function* () {
      const { client, server } = yield* setUp
      const large = yield* server.open()
      large.send("x".repeat(MAX_MESSAGE_BYTES + 1))
      assert.strictEqual((yield* Effect.promise(() => large.closed)).code, 1009)
      const deep = yield* server.open()
      deep.send(`{"jsonrpc":"2.0","method":"x","params":${"[".repeat(1_000)}${"]".repeat(1_000)}}`)
      assert.strictEqual((yield* Effect.promise(() => deep.closed)).code, 1008)
      const fast = yield* server.open()
      for (let n = 0; n < 2_000; n++) fast.notify("unknown", {})
      assert.strictEqual((yield* Effect.promise(() => fast.closed)).code, 1008)
      assert.strictEqual(yield* codeOf(client, "subscribe", { channel: "x".repeat(3_000) }), -32602)
      const many = Array.from({ length: 300 }, (_, n) => `claude-code:/${n}`)
      const refused = yield* server.connect()
      assert.strictEqual(
        yield* codeOf(refused, "initialize", {
          protocolVersions: ["0.9.0"],
          clientId: "c",
          initialSubscriptions: many
        }),
        -32602
      )
    })
  )

  it.live(
    "9. Validate and bound the protocol: a version that the host does not speak ends the connection",
    () =>
      Effect.gen(function* () {
        const { server } = yield* setUp
        const client = yield* server.connect()
        const error = yield* Effect.promise(() =>
          client.refusal("initialize", { protocolVersions: ["0.4.0", "2.0.0"], clientId: "c" })
        )
        assert.deepStrictEqual([error.code, error.data], [-32005, { supportedVersions: ["1.0.0", "0.9.0"] }])
        yield* Effect.promise(() => client.closed)
      })
  )

  it.live("10. Redact and minimize sensitive data: a refusal does not repeat what was sent", () =>
    Effect.gen(function* () {
      const { client } = yield* setUp
      const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
      const errors = yield* Effect.promise(async () => [
        await client.refusal("resourceRead", { uri: `file:///tmp/${secret}` }),
        await client.refusal("fetchTurns", { cursor: secret }, `claude-code:/${secret}`),
        await client.refusal(
          "createSession",
          { provider: secret },
          "claude-code:/00000000-0000-4000-8000-000000000000"
        )
      ])
      assert.notInclude(JSON.stringify(errors), secret)
    })
  )
})
