/** Previews of ports inside the networks of confined runs: real servers in real runs, reached through their relays. */
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { type EdgeClient, codeOf } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until, within } from "@corral/testing/time/Until"
import { type EventEmitter, once } from "node:events"
import { cpSync, existsSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { canConfine } from "../confinement/CanConfine.ts"
import { openUpstream } from "../preview/Upstream.ts"
import { Visitor } from "../preview/Visitor.ts"

const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required", CORRAL_EDGE_CANCEL_GRACE_MS: "300" }
const PYTHON = "/usr/bin/python3"

/** Answers with its label, streams without an end, counts connections that closed, and echoes WebSockets. */
const SERVER = `
import { createServer } from "node:http"
import { WebSocketServer } from "ws"
const [port, host, label] = process.argv.slice(2)
let closed = 0
const server = createServer((request, response) => {
  if (request.url === "/endless") {
    request.socket.once("close", () => closed++)
    response.write("begun")
  } else if (request.url === "/closed") response.end(String(closed))
  else if (request.url === "/large") response.end("x".repeat(5_000_000))
  else request.setEncoding("utf8").toArray().then((body) => response.end(label + body.join("")))
})
new WebSocketServer({ server, path: "/hmr" }).on("connection", (socket) => {
  socket.on("message", (data) => socket.send("echo " + data))
})
server.listen(Number(port), host)
`

interface Opened {
  readonly id: string
  readonly url: string
  readonly state: string
}

/** An Edge whose workspace has the server. */
const prepare = (edge: EdgeProcess): EdgeProcess => {
  writeFileSync(join(edge.workspace, "server.mjs"), SERVER)
  const ws = dirname(fileURLToPath(import.meta.resolve("ws")))
  cpSync(ws, join(edge.workspace, "node_modules", "ws"), { recursive: true, dereference: true })
  return edge
}

/** A run in which the command runs until the test ends. */
const running = async ({ client }: EdgeProcess, command: string): Promise<string> => {
  const { id } = await client.create(`/shell ${command}\n/say done`)
  onTestFinished(async () => void (await client.cancel(id)))
  const reader = await client.follow({ runId: id })
  const requested = await reader.event("run.approval.requested")
  await client.decide(id, String(requested.payload["approvalId"]), "allow")
  return id
}

const serving = (edge: EdgeProcess, port: number, label: string, host = "127.0.0.1") =>
  running(edge, `"${process.execPath}" server.mjs ${port} ${host} ${label}`)

const tryPreview = (client: EdgeClient, port: number, runId?: string) =>
  client.ask("POST", "/v1/previews", {
    body: { workspace: "ws", title: "A", source: { kind: "port", port }, ...(runId && { runId }) }
  })

const preview = async (client: EdgeClient, port: number, runId?: string): Promise<Opened> => {
  const answer = await tryPreview(client, port, runId)
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body as Opened
}

/** The preview with a new address, once its server answers. */
const ready = ({ client }: EdgeProcess, { id }: Opened): Promise<Opened> =>
  until(async () => {
    const { body } = await client.ask("GET", `/v1/previews/${id}`)
    const opened = body as Opened
    return opened.state === "ready" ? opened : undefined
  }, "an answer of the server")

/** Succeeds when it has closed, with or without an error. */
const closing = (from: EventEmitter): Promise<void> =>
  new Promise((resolve) => void from.on("error", () => undefined).once("close", () => resolve()))

const visiting = async (edge: EdgeProcess, port: number, runId: string): Promise<Visitor> =>
  Visitor.enter((await ready(edge, await preview(edge.client, port, runId))).url)

describe.skipIf(!canConfine)("a preview of a port in a confined run", () => {
  const edge = new EdgeProcess({ env: CONFINED })
  beforeAll(async () => {
    await edge.start()
    prepare(edge)
  })
  afterAll(() => edge.remove())

  it("shows the run's server, with requests in both directions", async () => {
    const runId = await serving(edge, 3_000, "first")
    const visitor = await visiting(edge, 3_000, runId)
    assert.deepInclude(await visitor.visit("/"), { status: 200, text: "first" })
    assert.strictEqual((await visitor.visit("/large")).text.length, 5_000_000)
    const body = "y".repeat(3_000_000)
    assert.strictEqual((await visitor.visit("/", { method: "POST", body })).text, `first${body}`)
    const many = await Promise.all(Array.from({ length: 40 }, () => visitor.visit("/")))
    assert.deepStrictEqual([...new Set(many.map(({ text }) => text))], ["first"])
  })

  it("carries WebSockets, and ends them with the client", async () => {
    const visitor = await visiting(edge, 3_000, await serving(edge, 3_000, "sockets"))
    const socket = await visitor.socket("/hmr")
    for (const text of ["a", "b"]) {
      socket.send(text)
      const [data] = (await within(once(socket, "message"), 5_000, "an echo")) as [Buffer]
      assert.strictEqual(String(data), `echo ${text}`)
    }
    socket.terminate()
    const endless = await visitor.begin("/endless")
    endless.destroy()
    await until(async () => ((await visitor.visit("/closed")).text === "1" ? true : undefined), "its end")
  })

  it.each(["::1", "::", "0.0.0.0"])("reaches a server that listens on %s", async (host) => {
    const visitor = await visiting(edge, 3_000, await serving(edge, 3_000, "any", host))
    assert.strictEqual((await visitor.visit("/")).text, "any")
  })

  it.skipIf(!existsSync(PYTHON))("reaches Python's server", async () => {
    const visitor = await visiting(edge, 8_000, await running(edge, `${PYTHON} -m http.server 8000`))
    assert.include((await visitor.visit("/server.mjs")).text, "createServer")
  })

  it("is of that run only, also if two runs use the same port, and a program of this machine, too", async () => {
    const { port } = await openUpstream((_, response) => void response.end("this machine"))
    const ids = [await serving(edge, port, "one"), await serving(edge, port, "two")] as const
    const visitors = [
      await visitingBusy(edge, port, ids[0]),
      await visitingBusy(edge, port, ids[1]),
      await Visitor.enter((await preview(edge.client, port)).url)
    ]
    const texts = await Promise.all(visitors.map(async (visitor) => (await visitor.visit("/")).text))
    assert.deepStrictEqual(texts, ["one", "two", "this machine"])
  })

  it("says that nothing answers before the server listens, and works afterwards", async () => {
    const runId = await running(
      edge,
      `until [ -e go ]; do sleep 0.05; done; "${process.execPath}" server.mjs 3000 127.0.0.1 late`
    )
    const opened = await preview(edge.client, 3_000, runId)
    assert.strictEqual(opened.state, "unreachable")
    const visitor = await Visitor.enter(opened.url)
    const { status, text } = await visitor.visit("/")
    assert.deepStrictEqual(
      [status, text],
      [502, "Nothing answers on port 3000 inside the run. Start the server there, then reload.\n"]
    )
    writeFileSync(join(edge.workspace, "go"), "")
    await ready(edge, opened)
    assert.strictEqual((await visitor.visit("/")).text, "late")
  })

  it("refuses ports of this machine that the run may not use, and those of the confinement", async () => {
    const { port } = await openUpstream((_, response) => void response.end("this machine"))
    const runId = await serving(edge, 3_000, "busy")
    await visiting(edge, 3_000, runId)
    const refused = await tryPreview(edge.client, port, runId)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    assert.include(refused.text, `list 127.0.0.1:${port} in CORRAL_EDGE_RUN_HOSTS`)
    const ofProxy = await tryPreview(edge.client, 17_843, runId)
    assert.deepStrictEqual([ofProxy.status, codeOf(ofProxy)], [403, "permission_denied"])
  })

  it("ends with the run, also in the middle of a response", async () => {
    const { port } = await openUpstream((_, response) => void response.end("this machine"))
    const runId = await serving(edge, port, "ends")
    const opened = await visitingBusy(edge, port, runId)
    const answer = await opened.begin("/endless")
    const socket = await opened.socket("/hmr")
    const ends = Promise.all([closing(answer.resume()), closing(socket)])
    await edge.client.cancel(runId)
    await within(ends, 5_000, "the ends of the connections")
    assert.deepStrictEqual(edge.survivorsOf(runId), [])
    // The port of this machine with the same number is not shown instead.
    assert.strictEqual((await opened.visit("/")).status, 502)
    const late = await tryPreview(edge.client, port, runId)
    assert.deepStrictEqual([late.status, codeOf(late)], [404, "not_found"])
  })
})

/** The same while a program of this machine has the port: the preview is refused until the run's server listens. */
const visitingBusy = async (edge: EdgeProcess, port: number, runId: string): Promise<Visitor> => {
  const opened = await until(async () => {
    const answer = await tryPreview(edge.client, port, runId)
    return answer.status === 201 ? (answer.body as Opened) : undefined
  }, "the run's server")
  return Visitor.enter(opened.url)
}

describe.skipIf(!canConfine)("a preview of a port that the owner lists", () => {
  it("shows the program of this machine", async () => {
    const { port } = await openUpstream((_, response) => void response.end("listed"))
    const edge = prepare(
      await openEdgeProcess({ env: { ...CONFINED, CORRAL_EDGE_RUN_HOSTS: `127.0.0.1:${port}` } })
    )
    const runId = await serving(edge, 3_000, "busy")
    await visiting(edge, 3_000, runId)
    const visitor = await visiting(edge, port, runId)
    assert.strictEqual((await visitor.visit("/")).text, "listed")
  })
})
