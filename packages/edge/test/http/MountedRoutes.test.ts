/** The Edge's routes in another program's router, without the Edge's own server: they keep their guard and their authentication. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { MAX_REQUEST_BYTES } from "@corral/service/http/RequestGuard"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { readFileSync } from "node:fs"
import { EdgeConfig } from "../../src/config/EdgeConfig.ts"
import { edgeServicesLayer } from "../../src/Edge.ts"
import { edgeMountedAt } from "../../src/http/EdgeRequestPolicy.ts"
import { edgeApiRoutes } from "../../src/http/routes.ts"
import { temporaryFolder } from "../Folder.ts"
import { configOf } from "../Samples.ts"

const ORIGIN = "http://own.example"
const SHELL = "app://own"

const isOpen = (path: string): boolean =>
  path === "/health" || path === "/v1/health" || path === "/health/live"

const operations: Array<{ readonly method: string; readonly path: string }> = []
HttpApi.reflect(EdgeApi, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) =>
    void operations.push({ method: endpoint.method, path: endpoint.path.replaceAll(/:[A-Za-z]+/g, "x") })
})

/** Answers a request as another server would have it answered. */
const mountedAs = Effect.fnUntraced(function* (place: (routes: typeof edgeApiRoutes) => typeof edgeApiRoutes) {
  const config = { ...configOf(yield* temporaryFolder), allowedOrigins: [SHELL] }
  const services = edgeMountedAt(ORIGIN).pipe(
    Layer.provideMerge(edgeServicesLayer),
    Layer.provideMerge(Layer.succeed(EdgeConfig, config))
  )
  const context = yield* Layer.build(services)
  const routes = Layer.merge(
    place(edgeApiRoutes),
    HttpRouter.add("GET", "/own", HttpServerResponse.text("the other program's"))
  )
  const app = yield* HttpRouter.toHttpEffect(routes).pipe(Effect.provide(context))
  return {
    token: readFileSync(config.tokenFile, "utf8").trim(),
    ask: (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
      app.pipe(
        Effect.provideService(
          HttpServerRequest.HttpServerRequest,
          HttpServerRequest.fromWeb(
            new Request(`${ORIGIN}${path}`, {
              method,
              headers: {
                host: "own.example",
                ...(body === undefined ? {} : { "content-type": "application/json" }),
                ...headers
              },
              ...(body === undefined ? {} : { body: JSON.stringify(body) })
            })
          )
        ),
        Effect.map((response) => HttpServerResponse.toWeb(response))
      )
  }
})

const mounted = mountedAs((routes) => routes)

const below = Layer.effect(
  HttpRouter.HttpRouter,
  Effect.map(HttpRouter.HttpRouter, (router) => router.prefixed("/corral"))
)

describe("The Edge's routes in another program's router", { timeout: 60_000 }, () => {
  it.live("ask for the token in any router", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      assert.isAbove(operations.length, 20)
      for (const { method, path } of operations) {
        if (isOpen(path)) continue
        for (const headers of [
          {},
          { authorization: "Bearer wrong" },
          { authorization: `Basic ${token}` },
          { "corral-authenticated": "yes" },
          { cookie: `token=${token}` }
        ]) {
          const answer = yield* ask(method, path, headers, method === "GET" ? undefined : {})
          const body = (yield* Effect.promise(() => answer.json())) as { readonly requestId: string }
          assert.deepStrictEqual([method, path, answer.status], [method, path, 401])
          assert.match(body.requestId, /^req_/)
        }
      }
      const list = yield* ask("GET", "/v1/runs", { authorization: `Bearer ${token}` })
      assert.strictEqual(list.status, 200)
      const create = { workspace: "none", agentId: "scripted", mode: "ask", input: { text: "hi" } }
      assert.strictEqual((yield* ask("POST", "/v1/runs", {}, create)).status, 401)
      assert.strictEqual(
        (yield* ask("POST", "/v1/runs", { authorization: `Bearer ${token}` }, create)).status,
        403,
        "only the workspace is refused"
      )
    }).pipe(Effect.scoped)
  )

  it.live("refuse another Host, another Origin and another site at every endpoint, with a valid token", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      const authorization = `Bearer ${token}`
      for (const { method, path } of operations) {
        for (const headers of [
          { host: "evil.example" },
          { host: "own.example:81" },
          { origin: "https://evil.example" },
          { origin: ORIGIN },
          { "sec-fetch-site": "cross-site" }
        ]) {
          const answer = yield* ask(method, path, { authorization, ...headers })
          const body = (yield* Effect.promise(() => answer.json())) as {
            readonly code: string
            readonly requestId: string
          }
          assert.deepStrictEqual(
            [method, path, answer.status, body.code],
            [method, path, 403, "permission_denied"]
          )
          assert.match(body.requestId, /^req_/)
          assert.strictEqual(answer.headers.get("x-request-id"), body.requestId)
          assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        }
      }
      const fromShell = { authorization, origin: SHELL, "sec-fetch-site": "cross-site" }
      assert.strictEqual((yield* ask("GET", "/v1/runs", fromShell)).status, 200)
    }).pipe(Effect.scoped)
  )

  it.live("refuse a token in the query, which only the event stream's upgrade takes", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      for (const { method, path } of operations) {
        if (isOpen(path)) continue
        const answer = yield* ask(method, `${path}?token=${token}`, {
          upgrade: "websocket",
          connection: "upgrade"
        })
        assert.deepStrictEqual([method, path, answer.status], [method, path, 401])
        assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
      }
    }).pipe(Effect.scoped)
  )

  it.live("refuse a body that is not JSON, or over the limit whether its length is declared or not", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      const authorization = `Bearer ${token}`
      const declared = (type: string, length: number) =>
        ask("POST", "/v1/runs", {
          authorization,
          "content-type": type,
          "content-length": String(length)
        })
      assert.strictEqual((yield* declared("text/plain", 2)).status, 415)
      assert.strictEqual((yield* declared("application/json", MAX_REQUEST_BYTES + 1)).status, 413)
      const large = ask("POST", "/v1/runs", { authorization }, { text: "x".repeat(MAX_REQUEST_BYTES) })
      const failure = yield* Effect.flip(Effect.sandbox(large))
      assert.include(Cause.pretty(failure), `Request body exceeds ${MAX_REQUEST_BYTES} bytes`)
    }).pipe(Effect.scoped)
  )

  it.live("keep their checks below a path, and are nowhere else", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mountedAs((routes) => routes.pipe(Layer.provide(below)))
      const authorization = `Bearer ${token}`
      for (const { method, path } of operations) {
        const status = (yield* ask(method, `/corral${path}`, {}, method === "GET" ? undefined : {})).status
        assert.deepStrictEqual([method, path, status], [method, path, isOpen(path) ? 200 : 401])
        const evil = yield* ask(method, `/corral${path}`, { authorization, host: "evil.example" })
        assert.deepStrictEqual([method, path, evil.status], [method, path, 403])
      }
      assert.strictEqual((yield* ask("GET", "/corral/v1/runs", { authorization })).status, 200)
      const elsewhere = yield* Effect.exit(ask("GET", "/v1/runs", { authorization }))
      assert.notStrictEqual(Exit.isSuccess(elsewhere) ? elsewhere.value.status : 404, 200)
    }).pipe(Effect.scoped)
  )

  it.live("leave the other program's routes alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* mounted
      assert.strictEqual((yield* ask("GET", "/own", { host: "evil.example" })).status, 200)
    }).pipe(Effect.scoped)
  )

  it.live("return only the public health without the token, even with forged headers", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      const forged = yield* ask("GET", "/v1/health", { authorization: "Bearer wrong" })
      assert.strictEqual(forged.status, 401)
      for (const headers of [{}, { "corral-authenticated": "yes" }, { cookie: `token=${token}` }]) {
        const answer = yield* ask("GET", "/v1/health", headers)
        assert.deepStrictEqual(
          Object.keys((yield* Effect.promise(() => answer.json())) as object).toSorted(),
          ["instanceId", "status"]
        )
      }
      const answer = yield* ask("GET", "/v1/health", { authorization: `Bearer ${token}` })
      assert.containsAllKeys((yield* Effect.promise(() => answer.json())) as object, ["store", "process"])
    }).pipe(Effect.scoped)
  )
})
