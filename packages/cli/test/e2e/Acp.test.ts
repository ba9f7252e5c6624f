/** `corral acp` as a process: only the protocol on stdout, the ends of both sides, and an Edge that is killed. */
import {
  client,
  type ClientConnection,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate
} from "@agentclientprotocol/sdk"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import type { Readable, Writable } from "node:stream"
import { Corral, program } from "./Corral.ts"

const corral = new Corral({ hasLastingRuns: true })
let edge: Awaited<ReturnType<typeof corral.up>>["edge"]

beforeAll(async () => {
  edge = (await corral.up()).edge
})
afterAll(() => corral.close())

type Child = ChildProcessByStdio<Writable, Readable, null>

interface Editor {
  readonly child: Child
  readonly connection: ClientConnection
  readonly updates: ReadonlyArray<SessionUpdate>
  readonly text: () => string
  readonly dialogs: ReadonlyArray<{
    readonly params: RequestPermissionRequest
    readonly answer: (response: RequestPermissionResponse) => void
  }>
  /** What was on stdout. */
  readonly lines: () => ReadonlyArray<string>
}

const toChild = ({ stdin }: Child): WritableStream<Uint8Array> =>
  new WritableStream({ write: (bytes) => void stdin.write(bytes) })

const fromChild = ({ stdout }: Child): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      stdout.on("data", (bytes: Buffer) => controller.enqueue(bytes))
      stdout.on("end", () => controller.close())
    }
  })

const start = async (...args: ReadonlyArray<string>): Promise<Editor> => {
  const child = spawn(
    process.execPath,
    [program, "acp", "--workspace", "sample", "--agent", "scripted", ...args],
    {
      env: corral.environment,
      stdio: ["pipe", "pipe", "ignore"]
    }
  )
  onTestFinished(() => void child.kill("SIGKILL"))
  let out = ""
  child.stdout.on("data", (bytes: Buffer) => (out += bytes.toString("utf8")))
  const updates: Array<SessionUpdate> = []
  const dialogs: Array<Editor["dialogs"][number]> = []
  const connection = client({ name: "test" })
    .onRequest(
      methods.client.session.requestPermission,
      ({ params }) => new Promise((answer) => void dialogs.push({ params, answer }))
    )
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .connect(ndJsonStream(toChild(child), fromChild(child)))
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1 })
  const text = () =>
    updates
      .flatMap((update) =>
        update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
          ? [update.content.text]
          : []
      )
      .join("")
  return { child, connection, updates, text, dialogs, lines: () => out.split("\n").slice(0, -1) }
}

const create = async ({ connection }: Editor) =>
  (await connection.agent.request(methods.agent.session.new, { cwd: "/home/person/code", mcpServers: [] }))
    .sessionId

const prompt = ({ connection }: Editor, sessionId: string, text: string) =>
  connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })

const codeOf = async ({ child }: Editor): Promise<number | null> => {
  if (child.exitCode === null) await once(child, "exit")
  return child.exitCode
}

describe("corral acp", () => {
  it("writes only the protocol to stdout, and ends with 0 when the editor goes away", async () => {
    const editor = await start("--mode", "auto_edit", "--model", "large")
    const session = await create(editor)
    assert.strictEqual((await prompt(editor, session, "/say hello")).stopReason, "end_turn")
    for (const line of editor.lines()) assert.deepInclude(JSON.parse(line), { jsonrpc: "2.0" })
    editor.child.stdin.end()
    assert.strictEqual(await codeOf(editor), 0)
  })

  it("ends with the code of a signal, and the run continues", async () => {
    const editor = await start()
    const session = await create(editor)
    prompt(editor, session, "/say begun\n/write one.txt x").catch(() => undefined)
    await until(async () => editor.dialogs[0], "the dialog")
    editor.child.kill("SIGINT")
    assert.strictEqual(await codeOf(editor), 130)
    const { out } = await corral.run("approvals", "--json")
    assert.strictEqual(out.length, 1)
    const { id } = JSON.parse(out[0] ?? "")
    assert.strictEqual((await corral.run("deny", id)).exit, 0)
  })

  it("follows a turn across an Edge that is killed, and decides at the next one", async () => {
    const editor = await start()
    const session = await create(editor)
    const turn = prompt(editor, session, "/say before\n/write two.txt x\n/say after")
    const dialog = await until(async () => editor.dialogs[0], "the dialog")
    edge.child.kill("SIGKILL")
    await edge.ended
    await until(async () => editor.text().includes("Lost connection") || undefined, "the lost connection")
    edge = (await corral.up()).edge
    await until(async () => editor.text().includes("Connected to the Edge again") || undefined, "the Edge")
    dialog.answer({ outcome: { outcome: "selected", optionId: "allow_once" } })
    assert.strictEqual((await turn).stopReason, "end_turn")
    assert.strictEqual(editor.text().split("before").length, 2)
    assert.strictEqual(editor.text().split("after").length, 2)
  })

  it("says what is wrong before it serves", async () => {
    const both = await corral.run("acp", "--edge", "--hub", "http://127.0.0.1:1")
    assert.strictEqual(both.exit, 2)
    assert.match(both.stderr, /Use one or the other\./)
    const { exit, out } = await corral.feed("garbage\n", "acp")
    assert.strictEqual(exit, 0)
    assert.match(out.join("\n"), /"code":-32700/)
  })
})
