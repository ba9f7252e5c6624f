/** The proxy of a run, over its socket. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { Deferred, Effect, Exit, Scope } from "effect"
import type { IncomingMessage } from "node:http"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { once } from "node:events"
import { type HostAnswer, HostDecisions } from "../../src/network/HostDecisions.ts"
import { hostEntryOf } from "../../src/network/HostEntry.ts"
import { serveRunProxy } from "../../src/network/RunProxy.ts"
import { type NetworkTarget, showTarget } from "../../src/network/NetworkTarget.ts"
import { openFolder } from "../Folder.ts"
import { openUpstream } from "../preview/Upstream.ts"
import { Outside, PUBLIC } from "./Outside.ts"

const NAMES = {
  "model.test": [PUBLIC],
  "rebound.test": ["127.0.0.1"],
  "metadata.test": ["169.254.169.254"],
  "own.test": ["93.184.216.99"],
  "mixed.test": ["10.0.0.1", PUBLIC],
  "asked.test": [PUBLIC],
  "denied.test": [PUBLIC]
}
const DECLARED = ["model.test", "rebound.test", "metadata.test", "own.test", "mixed.test", "nowhere.test"]

interface Setup {
  readonly ask?: (target: NetworkTarget) => Effect.Effect<HostAnswer>
  readonly mayAsk?: boolean
}

const open = async ({ ask = () => Effect.succeed("denied"), mayAsk = false }: Setup = {}) => {
  const seen: Array<Pick<IncomingMessage, "url" | "headers" | "method"> & { body: string }> = []
  const upstream = await openUpstream((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => (body += text))
    request.on("end", () => {
      seen.push({ url: request.url, headers: request.headers, method: request.method, body })
      response.end("from outside")
    })
  })
  const outside = new Outside(upstream.port, NAMES)
  const path = join(openFolder(), "proxy")
  const scope = Scope.makeUnsafe()
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  onTestFinished(close)
  const refusals: Array<string> = []
  const declared = DECLARED.flatMap((text) => hostEntryOf(text) ?? [])
  const decisions = new HostDecisions({ declared, owned: [], mayAsk }, ask, scope)
  const serving = serveRunProxy(path, {
    access: outside.access,
    permissionFor: (target) => decisions.permissionFor(target),
    onRefused: (reason, target) =>
      refusals.push(`${reason} ${target === undefined ? "" : showTarget(target)}`)
  })
  await Effect.runPromise(Scope.provide(serving, scope))
  return { close, outside, path, refusals, seen }
}

const dial = (path: string): Socket => connect({ path, allowHalfOpen: true }).setEncoding("utf8")

/** What the proxy sends back, until it closes or has sent `end`. */
const sent = async (path: string, text: string, end = "\0"): Promise<string> => {
  const socket = dial(path)
  onTestFinished(() => void socket.destroy())
  socket.on("error", () => undefined)
  socket.write(text)
  let answer = ""
  for await (const more of socket) {
    answer += String(more)
    if (answer.includes(end)) break
  }
  return answer
}

const connecting = (authority: string): string => `CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`
const getting = (url: string, more = ""): string =>
  `GET ${url} HTTP/1.1\r\nHost: other.test\r\n${more}Connection: close\r\n\r\n`
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4))

describe("serveRunProxy", () => {
  it("opens a tunnel to a declared host, at the address that was resolved once", async () => {
    const { outside, path } = await open()
    const answer = await sent(path, `${connecting("model.test:443")}${getting("/inside")}`, "from outside")
    assert.match(answer, /^HTTP\/1.1 200 /)
    assert.include(answer, "from outside")
    assert.deepStrictEqual(outside.resolved, ["model.test"])
    assert.deepStrictEqual(outside.connected, [`${PUBLIC} 443`])
  })

  it("forwards a request with the host of its address, and without headers of the connection", async () => {
    const { path, seen } = await open()
    const more = "Proxy-Authorization: Basic eA==\r\nConnection: x-secret\r\nX-Secret: 1\r\nX-Kept: 1\r\n"
    const answer = await sent(path, getting("http://model.test/a?b", more))
    assert.include(answer, "from outside")
    const [{ headers = {}, url } = {}] = seen
    assert.strictEqual(url, "/a?b")
    assert.strictEqual(headers.host, "model.test")
    assert.strictEqual(headers["x-kept"], "1")
    assert.notProperty(headers, "proxy-authorization")
    assert.notProperty(headers, "x-secret")
  })

  it("forwards bodies of known and unknown length", async () => {
    const { path, seen } = await open()
    const head = "POST http://model.test/ HTTP/1.1\r\nHost: model.test\r\nConnection: close\r\n"
    await sent(path, `${head}Content-Length: 5\r\n\r\nhello`)
    await sent(path, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nworld\r\n0\r\n\r\n`)
    assert.deepStrictEqual(
      seen.map(({ body }) => body),
      ["hello", "world"]
    )
  })

  it.each([
    ["rebound.test:443", "local_address"],
    ["metadata.test:80", "local_address"],
    ["own.test:443", "local_address"],
    ["other.test:443", "mode"],
    ["model.test:22", "mode"],
    ["127.0.0.1:80", "local_address"],
    ["2130706433:80", "local_address"],
    ["0x7f.1:80", "local_address"],
    ["[::1]:80", "local_address"],
    ["[::ffff:127.0.0.1]:80", "local_address"],
    ["[64:ff9b::7f00:1]:80", "local_address"],
    ["169.254.169.254:80", "local_address"],
    ["localhost:80", "local_address"],
    ["model.test", "malformed"],
    ["user@model.test:443", "malformed"],
    ["model.test:443@other.test:443", "malformed"]
  ])("refuses %s without a connection", async (authority, reason) => {
    const { outside, path, refusals } = await open()
    const answer = await sent(path, connecting(authority))
    assert.match(answer, /^HTTP\/1.1 403 /)
    assert.deepInclude(bodyOf(answer), { code: "permission_denied" })
    assert.strictEqual(bodyOf(answer).details.reason, `network_${reason}`)
    assert.deepStrictEqual(outside.connected, [])
    assert.strictEqual(refusals.length, 1)
  })

  it("does not resolve a name that is not allowed", async () => {
    const { outside, path } = await open()
    await sent(path, connecting("secret-in-a-name.other.test:443"))
    assert.deepStrictEqual(outside.resolved, [])
  })

  it("connects only to the public addresses of a name", async () => {
    const { outside, path } = await open()
    await sent(path, `${connecting("mixed.test:443")}${getting("/")}`, "from outside")
    assert.deepStrictEqual(outside.connected, [`${PUBLIC} 443`])
  })

  it("says that a name has no address", async () => {
    const { path } = await open()
    const answer = await sent(path, connecting("nowhere.test:443"))
    assert.match(answer, /^HTTP\/1.1 404 /)
    assert.include(answer, "No address was found for nowhere.test:443.")
  })

  it("refuses an ordinary request, and one for another scheme", async () => {
    const { outside, path } = await open()
    for (const url of ["/", "https://model.test/", "ftp://model.test/"])
      assert.match(await sent(path, getting(url)), /^HTTP\/1.1 403 /)
    assert.deepStrictEqual(outside.connected, [])
  })

  it("refuses requests that have two lengths, and decides each request of a connection", async () => {
    const { outside, path, seen } = await open()
    const head = "POST http://model.test/ HTTP/1.1\r\nHost: model.test\r\n"
    const smuggled = getting("http://other.test/")
    await sent(path, `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)
    await sent(path, `${head}Content-Length: 4\r\nContent-Length: 5\r\n\r\n0000${smuggled}`)
    assert.deepStrictEqual(seen, [])
    const both = await sent(path, `${head}Content-Length: 0\r\n\r\n${smuggled}`)
    assert.include(both, "from outside")
    assert.include(both, "network_mode")
    assert.deepStrictEqual(outside.connected, [`${PUBLIC} 80`])
  })

  it("refuses a head that is too large", async () => {
    const { path } = await open()
    const answer = await sent(path, `CONNECT model.test:443 HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`)
    assert.match(answer, /^HTTP\/1.1 431 /)
  })

  it("asks once for a host and port, while other connections continue", async () => {
    const answer = Deferred.makeUnsafe<HostAnswer>()
    const questions: Array<string> = []
    const ask = (target: NetworkTarget) =>
      Effect.suspend(() => {
        questions.push(showTarget(target))
        return Deferred.await(answer)
      })
    const { path } = await open({ ask, mayAsk: true })
    const waiting = [1, 2].map(() =>
      sent(path, `${connecting("asked.test:443")}${getting("/")}`, "from outside")
    )
    await until(async () => questions.length === 1 || undefined, "a question")
    assert.include(await sent(path, getting("http://model.test/")), "from outside")
    await Effect.runPromise(Deferred.succeed(answer, "allowed"))
    for (const each of await Promise.all(waiting)) assert.include(each, "from outside")
    const later = await sent(path, `${connecting("asked.test:443")}${getting("/")}`, "from outside")
    assert.include(later, "from outside")
    assert.deepStrictEqual(questions, ["asked.test:443"])
  })

  it("keeps a question open when the client leaves, and its answer for the next attempt", async () => {
    const answer = Deferred.makeUnsafe<HostAnswer>()
    let questions = 0
    const ask = () =>
      Effect.suspend(() => {
        questions++
        return Deferred.await(answer)
      })
    const { path } = await open({ ask, mayAsk: true })
    const client = dial(path)
    client.on("error", () => undefined)
    client.write(connecting("asked.test:443"))
    await until(async () => questions === 1 || undefined, "a question")
    client.destroy()
    await once(client, "close")
    await Effect.runPromise(Deferred.succeed(answer, "allowed"))
    const next = await sent(path, `${connecting("asked.test:443")}${getting("/")}`, "from outside")
    assert.include(next, "from outside")
    assert.strictEqual(questions, 1)
  })

  it("refuses a denied host with its code, also later", async () => {
    let questions = 0
    const ask = () =>
      Effect.sync((): HostAnswer => {
        questions++
        return "denied"
      })
    const { path } = await open({ ask, mayAsk: true })
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer = await sent(path, connecting("denied.test:443"))
      assert.match(answer, /^HTTP\/1.1 403 /)
      assert.strictEqual(bodyOf(answer).code, "approval_rejected")
    }
    assert.strictEqual(questions, 1)
  })

  it("has up to 8 open questions of a run that requests 1,000 hosts", async () => {
    let questions = 0
    const ask = () =>
      Effect.suspend(() => {
        questions++
        return Effect.never
      })
    const { path, refusals } = await open({ ask, mayAsk: true })
    const first = Array.from({ length: 8 }, (_, at) => {
      const socket = dial(path).on("error", () => undefined)
      return socket.end(connecting(`first-${at}.test:443`))
    })
    onTestFinished(() => first.forEach((socket) => socket.destroy()))
    await until(async () => questions === 8 || undefined, "questions")
    for (let at = 0; at < 992; at++) {
      const answer = await sent(path, connecting(`other-${at}.test:443`))
      assert.include(answer, "network_too_many")
    }
    assert.strictEqual(questions, 8)
    assert.strictEqual(refusals.length, 992)
  })

  it("ends its connections with its scope", async () => {
    const { close, path } = await open({ ask: () => Effect.never, mayAsk: true })
    const tunnel = dial(path)
    tunnel.write(connecting("model.test:443"))
    await once(tunnel, "data")
    const waiting = dial(path)
    waiting.write(connecting("asked.test:443"))
    const closed = Promise.all(
      [tunnel, waiting].map((socket) => {
        socket.on("error", () => undefined)
        socket.resume()
        return once(socket, "end").catch(() => undefined)
      })
    )
    await close()
    await closed
    const late = dial(path)
    const [error] = await once(late, "error")
    assert.include(String(error), "ENOENT")
  })
})
