/** Hostile and broken editors: one clear error for each message, bounded memory, and an Edge that serves the others. */
import { methods } from "@agentclientprotocol/sdk"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { serveBytes, TestEditor } from "./TestEditor.ts"

interface Answer {
  readonly id: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** An editor that writes what it wants. */
const rawEditor = async (text: ReadonlyArray<string | Uint8Array>) => {
  const edge = await openEdgeInProcess()
  const toAgent = new TransformStream<Uint8Array, Uint8Array>()
  const answers: Array<Answer> = []
  let rest = ""
  const fiber = serveBytes(
    toAgent.readable,
    async (bytes) => {
      rest += Buffer.from(bytes).toString("utf8")
      const lines = rest.split("\n")
      rest = lines.pop() ?? ""
      // Only messages of the protocol are on stdout.
      for (const line of lines) answers.push(JSON.parse(line))
    },
    { home: edge.home }
  )
  onTestFinished(async () => {
    await Effect.runPromise(Effect.exit(Fiber.interrupt(fiber)))
  })
  const writer = toAgent.writable.getWriter()
  const send = (part: string | Uint8Array) =>
    writer.write(typeof part === "string" ? Buffer.from(part) : part)
  for (const part of text) await send(part)
  const answer = (id: unknown, count = 1) =>
    until(async () => answers.filter((each) => each.id === id)[count - 1], `answer ${id}`)
  return { edge, send, end: () => writer.close(), answers, answer, fiber }
}

const line = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`
const initialize = line({ id: 0, method: "initialize", params: { protocolVersion: 1 } })

describe("A hostile editor", () => {
  it("receives one error for each broken message, and is served afterwards", async () => {
    const { answer, answers, send } = await rawEditor([
      initialize,
      "{ half\n",
      "[]\n",
      "7\n",
      "null\n",
      Buffer.from([0xff, 0xfe, 0x0a]),
      `${"[".repeat(1_000_000)}\n`,
      line({ id: 1, method: "session/unknown", params: {} }),
      line({ id: 2, method: "session/new", params: { cwd: 7 } }),
      line({ id: 3, method: "session/new", params: { cwd: "relative", mcpServers: [] } }),
      line({ id: 4, method: "session/prompt", params: { sessionId: "ses_none", prompt: [] } }),
      line({ id: 5, method: "session/load", params: { sessionId: "../x", cwd: "/x", mcpServers: [] } }),
      line({ method: "session/cancel", params: { sessionId: "ses_none" } }),
      line({ id: 99, result: {} })
    ])
    const codes: Array<number | undefined> = []
    for (const id of [1, 2, 3, 4, 5]) codes.push((await answer(id)).error?.code)
    assert.deepStrictEqual(codes, [-32601, -32602, -32602, -32002, -32002])
    await answer(null, 6)
    assert.strictEqual(answers.filter(({ id }) => id === null).length, 6)
    await send(line({ id: 6, method: "session/new", params: { cwd: "/home/person/code", mcpServers: [] } }))
    assert.isDefined((await answer(6)).result)
  })

  it("gets no answer before it initializes, and ends with its input", async () => {
    const { answer, end, fiber } = await rawEditor([
      line({ id: 1, method: "session/list", params: {} }),
      `{"jsonrpc":"2.0","id":2,`
    ])
    assert.strictEqual((await answer(1)).error?.code, -32600)
    await end()
    assert.strictEqual((await Effect.runPromise(Fiber.await(fiber)))._tag, "Success")
  })

  it("cannot send a message that is too long", async () => {
    const { answer, send } = await rawEditor([initialize])
    const chunk = Buffer.alloc(1_048_576, "x")
    for (let count = 0; count < 40; count++) await send(chunk)
    await send("\n")
    assert.match((await answer(null)).error?.message ?? "", /up to 32 MiB/)
    await send(line({ id: 1, method: "session/list", params: { cwd: "/home/person/code" } }))
    assert.isDefined((await answer(1)).result)
  })

  it("cannot have more than 256 requests without an answer", async () => {
    const { answer, answers, send } = await rawEditor([initialize])
    await send(line({ id: "s", method: "session/new", params: { cwd: "/home/person/code", mcpServers: [] } }))
    const { sessionId } = Object((await answer("s")).result)
    const prompt = [{ type: "text", text: "/hang" }]
    await send(line({ id: "p", method: "session/prompt", params: { sessionId, prompt } }))
    const many = Array.from({ length: 400 }, (_, id) => line({ id, method: "session/list", params: {} }))
    await send(many.join(""))
    await until(async () => answers.length >= 400 || undefined, "all answers")
    assert.isTrue(answers.some(({ error }) => /256 requests/.test(error?.message ?? "")))
    await send(line({ method: "session/cancel", params: { sessionId } }))
    await answer("p")
  })

  it("cannot open more than 64 sessions, and the Edge serves the others", async () => {
    const edge = await openEdgeInProcess()
    const editor = await TestEditor.open({ home: edge.home })
    onTestFinished(() => editor.close())
    // One after the other: a busy machine does not answer the health requests of 64 in their time.
    const first = await editor.create()
    for (let count = 1; count < 60; count++) await editor.create()
    const more = await Promise.allSettled(Array.from({ length: 140 }, () => editor.create()))
    const refused = more.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []))
    assert.deepStrictEqual(
      refused.filter((reason) => !reason.includes("Up to 64 sessions can be open")),
      []
    )
    assert.strictEqual(refused.length, 200 - 64)
    await editor.agent.request(methods.agent.session.close, { sessionId: first })
    await editor.create()
    const run = await edge.client.create("/say served")
    assert.strictEqual((await edge.client.result(run.id, 10_000)).status, 200)
  })

  it("cannot send a prompt that is too long, a file to an Edge, or a second prompt", async () => {
    const edge = await openEdgeInProcess()
    const editor = await TestEditor.open({ home: edge.home })
    onTestFinished(() => editor.close())
    const session = await editor.create()
    const refusal = (request: Promise<unknown>) =>
      request.then(
        () => "",
        (error: unknown) => String(Object(error).message)
      )
    assert.match(await refusal(editor.prompt(session, "x".repeat(10_000_000))), /longer than 256 KiB/)
    assert.match(await refusal(editor.prompt(session, " ")), /no text/)
    const fences = { uri: "file:///a.md", text: "```x".repeat(500_000) }
    const resource = { type: "resource" as const, resource: fences }
    assert.match(
      await refusal(
        editor.agent.request(methods.agent.session.prompt, { sessionId: session, prompt: [resource] })
      ),
      /longer than 256 KiB/
    )
    const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" }
    assert.match(
      await refusal(
        editor.agent.request(methods.agent.session.prompt, { sessionId: session, prompt: [image] })
      ),
      /An Edge alone takes no images/
    )
    const turn = editor.prompt(session, "/say begun\n/hang")
    await editor.shows("begun")
    assert.match(await refusal(editor.prompt(session, "/say second")), /A prompt is in progress/)
    await editor.agent.notify(methods.agent.session.cancel, { sessionId: session })
    await turn
  })
})
