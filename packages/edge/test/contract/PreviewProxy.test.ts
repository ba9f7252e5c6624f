/** A dev server behind a preview, through a real Edge: requests, sockets, redirects, and a server that goes and comes back. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import type { IncomingHttpHeaders, RequestListener } from "node:http"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { within } from "@corral/testing/time/Until"
import { echo, openUpstream } from "../preview/Upstream.ts"
import { refusalOf, Visitor } from "../preview/Visitor.ts"

interface Opened {
  readonly id: string
  readonly url: string
  readonly state: string
}

const create = async (client: EdgeClient, port: number): Promise<Opened> => {
  const body = { workspace: "ws", title: "A dev server", source: { kind: "port", port } }
  const answer = await client.ask("POST", "/v1/previews", { body })
  assert.strictEqual(answer.status, 201, answer.text)
  return answer.body as Opened
}

/** The Edge of all previews but those that look at its memory. */
const shared = new EdgeInProcess()
beforeAll(() => shared.start())
afterAll(() => shared.remove())

/** An Edge, a dev server that answers so, and a visitor of its preview. */
const visiting = async (listener: RequestListener, edge: EdgeProcess = shared) => {
  const upstream = await openUpstream(listener)
  const opened = await create(edge.client, upstream.port)
  assert.strictEqual(opened.state, "ready")
  return { edge, upstream, opened, visitor: await Visitor.enter(opened.url) }
}

const stateOf = async (client: EdgeClient, id: string) =>
  ((await client.ask("GET", `/v1/previews/${id}`)).body as Opened).state

describe("A preview of a port", () => {
  it("passes requests and answers on, without what is the preview's, the person's or the connection's", async () => {
    const requests: Array<{
      readonly url: string
      readonly headers: IncomingHttpHeaders
      readonly body: string
    }> = []
    const { upstream, visitor } = await visiting((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => (body += text))
      request.on("end", () => {
        requests.push({ url: request.url ?? "", headers: request.headers, body })
        response.writeHead(201, {
          "content-type": "application/x-own",
          "content-security-policy": "default-src *",
          "x-frame-options": "ALLOWALL",
          "access-control-allow-origin": "*",
          "x-own": "kept",
          "set-cookie": ["sid=1; Domain=127.0.0.1; SameSite=None; HttpOnly", "corral_prv_evil=1"]
        })
        response.end(`${request.method} ${body}`)
      })
    })
    const seen = await visitor.visit("//a/../b?c=%2f", {
      method: "PUT",
      body: "grüße",
      headers: {
        cookie: visitor.cookies("hub_session=secret"),
        origin: visitor.origin,
        referer: visitor.origin,
        "x-asked": "yes"
      }
    })
    assert.deepStrictEqual([seen.status, seen.text], [201, "PUT grüße"])
    assert.deepStrictEqual(seen.headers["set-cookie"], ["sid=1; HttpOnly; SameSite=Strict"])
    assert.deepInclude(seen.headers, { "content-type": "application/x-own", "x-own": "kept" })
    assert.notProperty(seen.headers, "access-control-allow-origin")
    assert.include(
      seen.headers["content-security-policy"],
      `connect-src 'self' ws://127.0.0.1:${new URL(visitor.origin).port};`
    )
    await visitor.visit("/", { headers: { cookie: `sid=1; ${visitor.cookies("hub_session=secret")}` } })
    const [first, second] = requests
    assert.strictEqual(first?.url, "//a/../b?c=%2f")
    assert.deepInclude(first?.headers, {
      host: `localhost:${upstream.port}`,
      origin: `http://localhost:${upstream.port}`,
      "x-asked": "yes"
    })
    assert.notProperty(first?.headers, "cookie")
    assert.notProperty(first?.headers, "referer")
    assert.strictEqual(second?.headers.cookie, "sid=1")
  })

  it("keeps redirects at home and follows none that leads away", async () => {
    const { upstream, visitor } = await visiting((request, response) => {
      response.writeHead(302, { location: decodeURIComponent((request.url ?? "").slice(2)) })
      response.end()
    })
    const go = (location: string) => visitor.visit(`/?${encodeURIComponent(location)}`)
    for (const home of ["/next", `http://localhost:${upstream.port}/next`, "./next"]) {
      const seen = await go(home)
      assert.deepStrictEqual([seen.status, seen.headers.location], [302, `${visitor.origin}/next`], home)
    }
    for (const away of ["http://evil.example/", "//evil.example", `http://127.0.0.1:${upstream.port + 1}/`]) {
      const seen = await go(away)
      assert.strictEqual(seen.status, 502, away)
      assert.notProperty(seen.headers, "location")
    }
  })

  it("frames bodies so that no second request hides in one", async () => {
    const urls: Array<string> = []
    const { visitor } = await visiting((request, response) => {
      urls.push(`${request.method} ${request.url}`)
      request.resume().on("end", () => response.end("ok"))
    })
    const { port } = new URL(visitor.origin)
    const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    for (const method of ["DELETE", "GET", "POST"]) {
      const head = [`${method} /shown HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Cookie: ${visitor.cookie}`]
      const chunk = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
      await sendRaw(Number(port), message([...head, "Transfer-Encoding: chunked"], chunk))
      const length = `Content-Length: ${hidden.length}`
      await sendRaw(Number(port), message([...head, "Connection: content-length", length], hidden))
    }
    assert.deepStrictEqual(
      urls,
      ["DELETE", "GET", "POST"].flatMap((method) => [`${method} /shown`, `${method} /shown`])
    )
  })

  it("streams 100 MB each way with bounded memory, also past a reader that stops", async () => {
    const piece = randomBytes(1_048_576)
    const listener: RequestListener = (request, response) => {
      if (request.method === "GET") {
        let left = 100
        const more = () => {
          while (left > 0) {
            left--
            if (!response.write(piece)) return response.once("drain", more)
          }
          return response.end()
        }
        return more()
      }
      const hash = createHash("sha256")
      request.on("data", (chunk: Buffer) => hash.update(chunk))
      return request.on("end", () => response.end(hash.digest("hex")))
    }
    const { edge, visitor } = await visiting(listener, await openEdgeProcess())
    for await (const _ of await visitor.begin("/")) continue
    const before = edge.memory
    const stopped = await Promise.all(Array.from({ length: 4 }, () => visitor.begin("/")))
    let size = 0
    for await (const chunk of await visitor.begin("/")) size += (chunk as Buffer).length
    assert.strictEqual(size, 100 * piece.length)
    const body = Buffer.concat(Array.from({ length: 40 }, () => piece))
    const sent = await visitor.visit("/", { method: "POST", body })
    assert.strictEqual(sent.text, createHash("sha256").update(body).digest("hex"))
    assert.isBelow(edge.memory - before, 96 * 1_048_576)
    for (const answer of stopped) answer.destroy()
    // Nothing hangs on them.
    assert.strictEqual((await visitor.visit("/", { method: "POST", body: "x" })).status, 200)
  })

  it("refuses a body over 50 MiB, told or not", async () => {
    const { visitor } = await visiting((request, response) =>
      request.resume().on("end", () => response.end())
    )
    const { port } = new URL(visitor.origin)
    const head = [`POST / HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Cookie: ${visitor.cookie}`]
    const response = await sendRaw(Number(port), message([...head, "Content-Length: 52428801"]))
    assert.strictEqual(response.status, 413)
    const chunk = `100000\r\n${"x".repeat(1_048_576)}\r\n`
    const parts = [message([...head, "Transfer-Encoding: chunked"]), ...Array<string>(52).fill(chunk)]
    assert.strictEqual((await sendRaw(Number(port), parts)).status, 413)
  })

  it("reports a missing server, and continues when the server is back", async () => {
    const { edge, upstream, opened, visitor } = await visiting((_, response) => response.end("here"))
    const { port } = upstream
    assert.strictEqual((await visitor.visit("/")).text, "here")
    await upstream.stop()
    const down = await visitor.visit("/")
    assert.deepStrictEqual([down.status, down.headers["content-type"]], [502, "text/plain; charset=utf-8"])
    assert.include(down.text, `Nothing answers on port ${port}`)
    assert.strictEqual(await stateOf(edge.client, opened.id), "unreachable")
    // Over IPv6 this time, as some dev servers listen.
    await openUpstream((_, response) => response.end("back"), { host: "::1", port })
    assert.strictEqual((await visitor.visit("/")).text, "back")
    assert.strictEqual(await stateOf(edge.client, opened.id), "ready")
  })

  it("survives servers that break off, talk nonsense or hang up", async () => {
    const { edge, visitor, upstream } = await visiting((request, response) => {
      switch (request.url) {
        case "/early":
          return request.socket.destroy()
        case "/nonsense":
          return request.socket.end("this is no HTTP\r\n\r\n")
        case "/switch":
          return request.socket.end(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
          )
        case "/large-head":
          return response.writeHead(200, { "x-large": "x".repeat(20_000) }).end()
        case "/half":
          response.writeHead(200, { "content-length": 100 })
          response.write("half")
          return setImmediate(() => request.socket.destroy())
        default:
          return response.end("fine")
      }
    })
    for (const path of ["/early", "/nonsense", "/switch", "/large-head"]) {
      assert.strictEqual((await visitor.visit(path)).status, 502, path)
    }
    const half = await visitor.visit("/half").then(String, (error: Error) => error.message)
    assert.strictEqual(half, "aborted")
    assert.strictEqual((await visitor.visit("/")).text, "fine")
    assert.strictEqual((await edge.client.ask("GET", "/health", { token: null })).status, 200)
    assert.isAbove(upstream.port, 0)
  })

  it("lets go of the server when its reader goes", async () => {
    const left = Promise.withResolvers<void>()
    const { visitor } = await visiting((_, response) => {
      response.write("begun")
      response.once("close", () => left.resolve())
    })
    const answer = await visitor.begin("/")
    await once(answer, "data")
    answer.destroy()
    await within(left.promise, 5_000, "the end of the upstream's request")
  })
})

describe("A WebSocket through a preview", () => {
  it("echoes text and bytes, small and large, and ends with either side", async () => {
    const { upstream, visitor } = await visiting((_, response) => response.end())
    const { seen } = echo(upstream)
    const socket = await visitor.socket("/hmr?token=its-own", {
      cookie: visitor.cookies("hub_session=secret")
    })
    const answers: Array<string | Buffer> = []
    let more = () => undefined as void
    socket.on("message", (data, binary) => {
      answers.push(binary ? (data as Buffer) : String(data))
      more()
    })
    const receive = (count: number) =>
      within(
        new Promise<void>((resolve) => {
          more = () => (answers.length >= count ? resolve() : undefined)
          more()
        }),
        10_000,
        `${count} messages`
      )
    const large = randomBytes(8_000_000)
    socket.send("grüße")
    socket.send(large)
    await receive(2)
    assert.include(answers, "grüße")
    await receive(answers.includes("hello") ? 3 : 2)
    assert.isTrue(answers.some((answer) => typeof answer !== "string" && large.equals(answer)))
    assert.deepStrictEqual(seen, [
      {
        url: "/hmr?token=its-own",
        host: `localhost:${upstream.port}`,
        origin: `http://localhost:${upstream.port}`,
        cookie: undefined
      }
    ])
    const closed = once(socket, "close")
    await upstream.stop()
    await within(closed, 5_000, "the close")
  })

  it("needs the cookie, a page of the preview and a server that takes it; DELETE ends it", async () => {
    const { edge, opened, upstream, visitor } = await visiting((_, response) => response.end())
    echo(upstream)
    const refusal = (path: string, headers: Readonly<Record<string, string>>) =>
      visitor.socket(path, headers).then(
        () => "open",
        (error: Error) => error.message
      )
    const { search } = new URL(
      ((await edge.client.ask("GET", `/v1/previews/${opened.id}`)).body as Opened).url
    )
    assert.include(await refusal("/hmr", { cookie: "" }), "401")
    assert.include(await refusal(`/${search}`, { cookie: "" }), "401")
    assert.include(await refusal("/hmr", { origin: "http://evil.example" }), "403")
    assert.include(await refusal("/elsewhere", {}), "404")
    const socket = await visitor.socket("/hmr")
    const closed = once(socket, "close")
    assert.strictEqual((await edge.client.ask("DELETE", `/v1/previews/${opened.id}`)).status, 204)
    await within(closed, 2_000, "the close")
    const second = await create(edge.client, upstream.port)
    await upstream.stop()
    const late = await Visitor.enter(
      ((await edge.client.ask("GET", `/v1/previews/${second.id}`)).body as Opened).url
    )
    assert.include(
      await late.socket("/hmr").then(
        () => "open",
        (error: Error) => error.message
      ),
      "404"
    )
  })
})

describe("A preview's port", () => {
  it("receives nothing from the visitor when another program has taken it", async () => {
    const { edge, upstream, visitor } = await visiting((_, response) => response.end("mine"))
    const { port } = upstream
    await upstream.stop()
    // Another program listens there now. It must not receive the first visitor's cookie.
    await openUpstream((request, response) => response.end(String(request.headers.cookie)), { port })
    assert.strictEqual((await visitor.visit("/")).text, "undefined")
    const unsigned = await new Visitor(visitor.origin, "").visit("/")
    assert.deepStrictEqual([unsigned.status, refusalOf(unsigned)], [401, "unauthorized"])
    assert.notInclude(edge.stderr, visitor.cookie)
  })
})
