import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { get, type IncomingMessage } from "node:http"
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { ServiceAddress } from "../../src/http/Answering.ts"
import { receiveAll } from "./Idle.ts"
import { nodeRoutes, served, serverLayer } from "./Served.ts"

const room = existsSync("/proc/sys/net/core/somaxconn")
  ? Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"))
  : 0

/** Of all sockets of this system, those that wait for a first answer from that port. */
const knocking = (port: number): number => {
  const address = `:${port.toString(16).toUpperCase().padStart(4, "0")} 02 `
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .filter((line) => line.includes(address)).length
}

const fetchText = (port: number, path = "/", init: RequestInit = {}) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

const quiet = { disableListenLog: true, disableLogger: true }
const page = HttpRouter.add("GET", "/page", HttpServerResponse.text("page"))

describe("serviceServerLayer", () => {
  // What a system allows is its own affair: some hold no more than 128.
  it.effect.runIf(room >= 4_096)("has room for 2,000 that connect before one is accepted", () =>
    Effect.gen(function* () {
      const port = yield* served((_, response) => void response.end())
      const sockets = yield* Effect.acquireRelease(
        Effect.sync(() => Array.from({ length: 2_000 }, () => connect(port, "127.0.0.1"))),
        (opened) => Effect.sync(() => opened.forEach((socket) => socket.destroy()))
      )
      // Sockets connect in the next tick, all of them before the loop turns and the first is accepted.
      const unheard = yield* Effect.callback<number>((resume) =>
        process.nextTick(() => resume(Effect.sync(() => knocking(port))))
      )
      assert.strictEqual(unheard, 0)
      assert.strictEqual(sockets.length, 2_000)
    })
  )

  it.live("serves the routes of a router with the standard headers and error objects", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        HttpRouter.serve(page, quiet).pipe(Layer.provideMerge(serverLayer()))
      )
      const { port, url } = Context.get(context, ServiceAddress)
      assert.strictEqual(url, `http://127.0.0.1:${port}`)
      const answer = yield* fetchText(port, "/page", { headers: { "x-request-id": "mine" } })
      assert.deepStrictEqual(
        [answer.status, answer.text, answer.headers.get("x-request-id"), answer.headers.get("cache-control")],
        [200, "page", "mine", "no-store"]
      )
      const missing = yield* fetchText(port, "/nowhere", { headers: { "x-request-id": "not good" } })
      const { code, requestId } = JSON.parse(missing.text) as { code: string; requestId: string }
      assert.deepStrictEqual([missing.status, code], [404, "not_found"])
      assert.match(requestId, /^req_/)
      assert.strictEqual(missing.headers.get("x-request-id"), requestId)
    })
  )

  it.live("keeps an idle connection longer than proxies do", () =>
    Effect.gen(function* () {
      const port = yield* served((_, response) => void response.end())
      const { headers } = yield* fetchText(port)
      assert.strictEqual(headers.get("keep-alive"), "timeout=130")
    })
  )

  it.live("fails with one sentence when the address is in use", () =>
    Effect.gen(function* () {
      const port = yield* served((_, response) => void response.end())
      const failure = yield* Effect.flip(Layer.build(serverLayer({}, port)))
      assert.strictEqual(failure._tag, "ListenFailed")
      assert.match(
        failure.message,
        /^http:\/\/127\.0\.0\.1:\d+ is in use by another program\. Stop it, or choose another port\.$/
      )
    })
  )

  it.live("refuses a request before the routes, also one that expects 100-continue", () =>
    Effect.gen(function* () {
      let routed = 0
      const port = yield* served((_, response) => void response.end(String(++routed)), {
        refusalOf: ({ headers }) =>
          headers["x-bad"] === undefined ? undefined : { code: "permission_denied" }
      })
      const expecting = ["POST / HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: 2"]
      const refused = yield* Effect.promise(() =>
        receiveAll(port, message([...expecting, "X-Bad: 1"], "{}"), 10)
      )
      assert.include(refused.text, `"code":"permission_denied"`)
      assert.strictEqual(routed, 0)
      const admitted = yield* fetchText(port, "/", { method: "POST", body: "{}" })
      assert.deepStrictEqual([admitted.status, admitted.text], [200, "1"])
    })
  )

  it.live("passes admitted upgrades to the service with the first bytes, and refuses all others", () =>
    Effect.gen(function* () {
      const handshake = [
        "GET /stream HTTP/1.1",
        "Host: x",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        `Sec-WebSocket-Key: ${"A".repeat(22)}==`
      ]
      const port = yield* served((_, response) => void response.end(), {
        refusalOf: ({ headers }, isUpgrade) =>
          isUpgrade && headers["x-bad"] !== undefined ? { code: "unauthorized" } : undefined,
        onUpgrade: (_, socket, head, id) =>
          void socket.end(message(["HTTP/1.1 200 OK", "Content-Length: 10"], `${id} ${head.toString()}`))
      })
      const send = (lines: ReadonlyArray<string>, port: number) =>
        Effect.promise(() => sendRaw(port, message([...lines, "X-Request-Id: mine"], "first")))
      assert.strictEqual((yield* send(handshake, port)).text, "mine first")
      assert.strictEqual((yield* send([...handshake, "X-Bad: 1"], port)).status, 401)
      assert.strictEqual((yield* send(handshake.slice(0, 5), port)).status, 422, "without a key")
      const without = yield* served((_, response) => void response.end())
      assert.strictEqual((yield* send(handshake, without)).status, 404)
    })
  )

  it.live("holds requests that arrive before the routes are ready", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(serverLayer())
      const { port } = Context.get(context, ServiceAddress)
      const early = get({ host: "127.0.0.1", port, agent: false })
      const answered = yield* Effect.forkChild(
        Effect.promise(async () => (await once(early, "response")) as [IncomingMessage])
      )
      // A second connection is accepted after the first one.
      const second = connect(port, "127.0.0.1")
      yield* Effect.promise(() => once(second, "connect"))
      second.destroy()
      const routes = nodeRoutes((request, response) => void response.end(request.headers["x-request-id"]))
      yield* Effect.provide(HttpServer.serveEffect(routes), context)
      const [response] = yield* Fiber.join(answered)
      assert.strictEqual(response.statusCode, 200)
      assert.strictEqual(response.headers["cache-control"], "no-store")
      response.resume()
    })
  )

  it.live("closes upgraded connections first on stop, then answers requests in progress", () =>
    Effect.gen(function* () {
      const steps: Array<string> = []
      const arrived = yield* Deferred.make<void>()
      const stopping = yield* Deferred.make<void>()
      const closeUpgraded = Effect.suspend(() => {
        steps.push("upgraded connections closed")
        return Deferred.succeed(stopping, undefined)
      })
      const slow = HttpRouter.add(
        "GET",
        "/slow",
        Effect.gen(function* () {
          yield* Deferred.succeed(arrived, undefined)
          yield* Deferred.await(stopping)
          steps.push("answered")
          return HttpServerResponse.text("whole")
        })
      )
      const resource = Layer.effectDiscard(
        Effect.addFinalizer(() => Effect.sync(() => steps.push("routes closed")))
      )
      const scope = Scope.makeUnsafe()
      const context = yield* Layer.build(
        HttpRouter.serve(Layer.provide(slow, resource), quiet).pipe(
          Layer.provideMerge(serverLayer({ closeUpgraded }))
        )
      ).pipe(Scope.provide(scope))
      const fiber = yield* Effect.forkChild(fetchText(Context.get(context, ServiceAddress).port, "/slow"))
      yield* Deferred.await(arrived)
      yield* Scope.close(scope, Exit.void)
      const { status, text } = yield* Fiber.join(fiber)
      assert.deepStrictEqual([status, text], [200, "whole"])
      assert.deepStrictEqual(steps, ["upgraded connections closed", "answered", "routes closed"])
    })
  )
})
