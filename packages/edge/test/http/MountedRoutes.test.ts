/** The Edge in another program's server: its checks and its authentication are the same as elsewhere. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { MAX_REQUEST_BYTES } from "@corral/service/http/RequestGuard"
import { otherServer } from "@corral/testing/http/OtherServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpApi } from "effect/http-api"
import { readFileSync } from "node:fs"
import { EdgeConfig } from "../../src/config/EdgeConfig.ts"
import { edgeRoutes } from "../../src/Edge.ts"
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

/** An Edge below `/corral`; `ask` sends requests to it. */
const mounted = Effect.gen(function* () {
  const config = {
    ...configOf(yield* temporaryFolder),
    allowedOrigins: [SHELL],
    requestsPerSecond: 100_000
  }
  const server = yield* otherServer(
    Layer.fresh(edgeRoutes({ path: "/corral", origins: [ORIGIN] })).pipe(
      Layer.provide(Layer.succeed(EdgeConfig, config))
    )
  )
  return {
    server,
    token: readFileSync(config.tokenFile, "utf8").trim(),
    ask: (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
      server.ask(
        method,
        `/corral${path}`,
        {
          host: "own.example",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        },
        body === undefined ? undefined : JSON.stringify(body)
      )
  }
})

describe("The Edge's routes in another program's server", () => {
  it.live("have the documents below the path, with the token", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      for (const kind of ["openapi", "asyncapi"]) {
        assert.strictEqual((yield* ask("GET", `/${kind}.json`)).status, 401)
        const answer = yield* ask("GET", `/${kind}.json`, { authorization: `Bearer ${token}`, origin: SHELL })
        assert.deepStrictEqual([answer.status, answer.body[kind] === undefined], [200, false])
        assert.strictEqual(answer.headers.get("access-control-allow-origin"), SHELL)
        const preflight = yield* ask("OPTIONS", `/${kind}.json`, {
          origin: SHELL,
          "access-control-request-method": "GET"
        })
        assert.deepStrictEqual(
          [preflight.status, preflight.headers.get("access-control-allow-methods")],
          [204, "GET"]
        )
      }
    }).pipe(Effect.scoped)
  )

  it.live("ask for the token", () =>
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
          assert.deepStrictEqual([method, path, answer.status], [method, path, 401])
          assert.match(String(answer.body["requestId"]), /^req_/)
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
          const { body, headers: received, status } = yield* ask(method, path, { authorization, ...headers })
          assert.deepStrictEqual(
            [method, path, status, body["code"]],
            [method, path, 403, "permission_denied"]
          )
          assert.match(String(body["requestId"]), /^req_/)
          assert.strictEqual(received.get("x-request-id"), body["requestId"])
          assert.strictEqual(received.get("cache-control"), "no-store")
        }
      }
      const fromShell = { authorization, origin: SHELL, "sec-fetch-site": "cross-site" }
      assert.strictEqual((yield* ask("GET", "/v1/runs", fromShell)).status, 200)
    }).pipe(Effect.scoped)
  )

  it.live("tell the shell's page what it may send and read at every endpoint, and no other page", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      const authorization = `Bearer ${token}`
      const preflightHeaders = {
        "access-control-request-method": "POST",
        "access-control-request-private-network": "true"
      }
      for (const { method, path } of operations) {
        const preflight = yield* ask("OPTIONS", path, {
          ...preflightHeaders,
          origin: SHELL,
          "sec-fetch-site": "cross-site"
        })
        assert.deepStrictEqual([path, preflight.status, preflight.text], [path, 204, ""])
        const allowed = preflight.headers.get("access-control-allow-methods")?.split(", ")
        assert.include(allowed ?? [], method, path)
        assert.include(preflight.headers.get("access-control-allow-headers"), "idempotency-key")
        assert.strictEqual(preflight.headers.get("access-control-allow-private-network"), "true")
        for (const headers of [
          {},
          { authorization },
          { authorization: "Bearer wrong" },
          { authorization, host: "evil.example" }
        ]) {
          const answer = yield* ask(method, path, { origin: SHELL, ...headers })
          assert.strictEqual(answer.headers.get("access-control-allow-origin"), SHELL, path)
          assert.include(answer.headers.get("access-control-expose-headers"), "x-request-id")
          assert.strictEqual(answer.headers.get("access-control-allow-credentials"), null)
          assert.include(answer.headers.get("vary")?.toLowerCase(), "origin")
        }
        for (const origin of ["null", ORIGIN, "https://evil.example", `${SHELL}.evil`]) {
          const refused = yield* ask("OPTIONS", path, { ...preflightHeaders, origin })
          assert.deepStrictEqual([path, origin, refused.status], [path, origin, 403])
          const names = [...refused.headers.keys()].filter((name) => name.startsWith("access-control"))
          assert.deepStrictEqual(names, [])
        }
      }
      // Without a listed Origin there is nothing to tell, but caches must know that there could be.
      const plain = yield* ask("GET", "/v1/runs", { authorization })
      assert.deepStrictEqual(
        [plain.headers.get("access-control-allow-origin"), plain.headers.get("vary")],
        [null, "Origin"]
      )
      const nowhere = yield* ask("OPTIONS", "/v1/nowhere", { ...preflightHeaders, origin: SHELL })
      assert.deepStrictEqual([nowhere.status, nowhere.body["code"]], [404, "not_found"])
      const metrics = yield* ask("OPTIONS", "/metrics", { ...preflightHeaders, origin: SHELL })
      assert.notStrictEqual(metrics.status, 204)
      assert.strictEqual(metrics.headers.get("access-control-allow-origin"), null)
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
      const text = { authorization, "content-type": "text/plain" }
      assert.strictEqual((yield* ask("POST", "/v1/runs", text, "hi")).status, 415)
      const large = { text: "x".repeat(MAX_REQUEST_BYTES) }
      const length = String(JSON.stringify(large).length)
      const declared = { authorization, "content-length": length }
      assert.strictEqual((yield* ask("POST", "/v1/runs", declared, large)).status, 413)
      const chunked = { authorization, "transfer-encoding": "chunked" }
      assert.strictEqual((yield* ask("POST", "/v1/runs", chunked, large)).status, 413)
    }).pipe(Effect.scoped)
  )

  it.live("are nowhere else, and leave the other program's routes alone", () =>
    Effect.gen(function* () {
      const { server, token } = yield* mounted
      const headers = { host: "own.example", authorization: `Bearer ${token}` }
      for (const { method, path } of operations)
        assert.deepStrictEqual(
          [path, (yield* server.ask(method, path.replace(/^\/?/, "/"), headers)).status],
          [path, 404]
        )
      const page = yield* server.ask("GET", "/own", { host: "evil.example" })
      assert.deepStrictEqual([page.status, page.text], [200, "the other program's"])
    }).pipe(Effect.scoped)
  )

  it.live("return only the public health without the token, even with forged headers", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      const forged = yield* ask("GET", "/v1/health", { authorization: "Bearer wrong" })
      assert.strictEqual(forged.status, 401)
      for (const headers of [{}, { "corral-authenticated": "yes" }, { cookie: `token=${token}` }]) {
        const { body } = yield* ask("GET", "/v1/health", headers)
        assert.deepStrictEqual(Object.keys(body).toSorted(), ["instanceId", "status"])
      }
      const { body } = yield* ask("GET", "/v1/health", { authorization: `Bearer ${token}` })
      assert.containsAllKeys(body, ["store", "process"])
    }).pipe(Effect.scoped)
  )
})
