/** Services below paths of another program's server: any number of them, in any order, next to any routes of the program. */
import { once } from "node:events"
import { otherServer } from "@corral/testing/http/OtherServer"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import * as fc from "fast-check"
import { WebSocket, WebSocketServer } from "ws"
import type { ConnectionHandlers } from "../../src/http/Connections.ts"
import { mountedLayer } from "../../src/http/Mounted.ts"

const api = HttpApi.make("Test").add(HttpApiGroup.make("all").add(HttpApiEndpoint.get("health", "/health")))

/** A service that answers with its name, the path that it sees, and the health of all services. */
const service = (name: string, path: string, handlers: Partial<ConnectionHandlers> = {}) =>
  mountedLayer({
    path,
    api,
    policy: Effect.succeed({}),
    connections: Effect.succeed({ paths: ["/health"], refusalOf: () => undefined, ...handlers }),
    routes: Layer.mergeAll(
      HttpRouter.add("GET", "/health", HttpServerResponse.text(name)),
      HttpRouter.add("GET", "/seen/*", ({ url }: HttpServerRequest.HttpServerRequest) =>
        Effect.succeed(HttpServerResponse.text(`${name} ${url}`))
      ),
      HttpRouter.add("GET", "/defect", Effect.die(new Error("a secret")))
    )
  })

const segment = fc.stringMatching(/^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,8}$/)
const placePath = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join("/")}`)
const isBelow = (path: string, other: string): boolean => path === other || path.startsWith(`${other}/`)
/** Paths of which none is below another. */
const separatePaths = fc
  .uniqueArray(placePath, { minLength: 2, maxLength: 4 })
  .filter((paths) => paths.every((path, at) => !paths.some((other, n) => n !== at && isBelow(path, other))))

const closing = (upgraded: Array<WebSocket>): Partial<ConnectionHandlers> => {
  const handshakes = new WebSocketServer({ noServer: true })
  return {
    onUpgrade: (request, socket, head) =>
      handshakes.handleUpgrade(request, socket, head, (webSocket) => {
        upgraded.push(webSocket)
        webSocket.send(String(request.url))
      }),
    closeUpgraded: Effect.sync(() => upgraded.forEach((webSocket) => webSocket.close(1001)))
  }
}

describe("mountedLayer", () => {
  it("serves each service below its path, for any paths, next to the program's own routes", async () => {
    await fc.assert(
      fc.asyncProperty(separatePaths, async (paths) => {
        const program = Effect.gen(function* () {
          const services = paths.map((path, at) => service(`service ${at}`, path))
          const health = HttpRouter.add("GET", "/health", HttpServerResponse.text("own"))
          const [first = health, ...others] = services
          const { ask } = yield* otherServer(Layer.mergeAll(health, first, ...others))
          assert.strictEqual((yield* ask("GET", "/health")).text, "own")
          for (const [at, path] of paths.entries()) {
            assert.strictEqual((yield* ask("GET", `${path}/health`)).text, `service ${at}`)
            assert.strictEqual((yield* ask("GET", `${path}/seen/x?y=1`)).text, `service ${at} /seen/x?y=1`)
            const missing = yield* ask("GET", `${path}/nowhere`)
            assert.deepStrictEqual([missing.status, missing.body["code"]], [404, "not_found"])
            assert.strictEqual(missing.headers.get("x-request-id"), missing.body["requestId"])
            const method = yield* ask("POST", `${path}/health`)
            assert.deepStrictEqual([method.status, method.headers.get("allow")], [405, "GET"])
            const defect = yield* ask("GET", `${path}/defect`)
            assert.deepStrictEqual([defect.status, defect.body["code"]], [500, "internal"])
            assert.notInclude(defect.text, "secret")
            assert.strictEqual((yield* ask("GET", `${path}x/health`)).status, 404)
          }
        })
        await Effect.runPromise(Effect.scoped(program))
      }),
      { numRuns: 20 }
    )
  })

  it("fails with a sentence for a path that cannot be used, and for a path that another service has", async () => {
    const failureOf = (services: ReturnType<typeof service>) =>
      Effect.runPromise(Effect.scoped(Effect.flip(otherServer(services))))
    const bad = [
      "",
      "corral",
      "/corral/",
      "//",
      "/a//b",
      "/:id",
      "/*",
      "/a b",
      "/%2f",
      "/..",
      "/.",
      "/a?b",
      "/é"
    ]
    for (const path of bad) {
      const { _tag, message: text } = await failureOf(service("bad", path))
      assert.deepStrictEqual([path, _tag], [path, "MountFailed"])
      assert.include(text, "is not a path")
    }
    for (const path of ["/", "/corral"]) {
      const both = Layer.mergeAll(service("one", path), service("other", path))
      const { _tag, message: text } = await failureOf(both)
      assert.deepStrictEqual([path, _tag], [path, "MountFailed"])
      assert.include(text, "Choose another path")
    }
  })

  it.live("at the root, leaves the program's own routes to the program", () =>
    Effect.gen(function* () {
      const health = HttpRouter.add("GET", "/health", HttpServerResponse.text("own"))
      for (const routes of [
        Layer.mergeAll(health, service("one", "/")),
        Layer.mergeAll(service("one", "/"), health)
      ]) {
        const { ask } = yield* otherServer(routes)
        assert.strictEqual((yield* ask("GET", "/health")).text, "own")
        assert.strictEqual((yield* ask("GET", "/seen/x")).text, "one /seen/x")
      }
    }).pipe(Effect.scoped)
  )

  it.live(
    "gives upgrades with the path that the service knows, and refuses them where the service has none",
    () =>
      Effect.gen(function* () {
        const upgraded: Array<WebSocket> = []
        const { port } = yield* otherServer(
          Layer.mergeAll(service("one", "/one", closing(upgraded)), service("two", "/two/deep"))
        )
        const client = new WebSocket(`ws://127.0.0.1:${port}/one/events?runId=x`)
        const [text] = (yield* Effect.promise(() => once(client, "message"))) as [Buffer]
        assert.strictEqual(String(text), "/events?runId=x")
        const refused = new WebSocket(`ws://127.0.0.1:${port}/two/deep/events`)
        const [error] = (yield* Effect.promise(() => once(refused, "error"))) as [Error]
        assert.include(error.message, "404")
        client.terminate()
      }).pipe(Effect.scoped)
  )

  it.live("passes an absolute target on as it was sent, for the guard to refuse", () =>
    Effect.gen(function* () {
      const targets: Array<string | undefined> = []
      const refusalOf: ConnectionHandlers["refusalOf"] = ({ url }) => {
        targets.push(url)
        return { code: "permission_denied" }
      }
      const { port } = yield* otherServer(service("one", "/one", { refusalOf }))
      const head = ["GET http://evil.example/one/health HTTP/1.1", "Host: x"]
      const answer = yield* Effect.promise(() => sendRaw(port, message(head)))
      assert.deepStrictEqual([answer.status, targets], [403, ["http://evil.example/one/health"]])
    }).pipe(Effect.scoped)
  )

  it.live("ends its connections when the server stops, so that the server does not wait for them", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const upgraded: Array<WebSocket> = []
      const { port } = yield* Scope.provide(otherServer(service("one", "/one", closing(upgraded))), scope)
      const client = new WebSocket(`ws://127.0.0.1:${port}/one/events`)
      yield* Effect.promise(() => once(client, "message"))
      const closed = once(client, "close")
      // The program's server waits up to 20 s for open connections.
      const stopped = Effect.timeoutOption(Scope.close(scope, Exit.void), "10 seconds")
      assert.isTrue((yield* stopped)._tag === "Some")
      const [code] = (yield* Effect.promise(() => closed)) as [number]
      assert.strictEqual(code, 1001)
    })
  )
})
