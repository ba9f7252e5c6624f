/** The exported routes in another program's router, without the guard and the server of the Edge. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { builtIn } from "@corral/adapters/Registry"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { readFileSync } from "node:fs"
import { edgeCoreLayer } from "../../src/Edge.ts"
import { EdgeInstance } from "../../src/EdgeInstance.ts"
import { edgeRoutes } from "../../src/http/routes.ts"
import { HubLink } from "../../src/link/HubLink.ts"
import { LocalToken } from "../../src/LocalToken.ts"
import { scriptedProgram } from "../../src/scriptedProgram.ts"
import { temporaryFolder } from "../Folder.ts"
import { configOf } from "../Samples.ts"

const isOpen = (path: string): boolean =>
  path === "/health" || path === "/v1/health" || path === "/health/live"

const operations: Array<{ readonly method: string; readonly path: string }> = []
HttpApi.reflect(EdgeApi, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) =>
    void operations.push({ method: endpoint.method, path: endpoint.path.replaceAll(/:[A-Za-z]+/g, "x") })
})

/** Answers a request as another server would have it answered. */
const mounted = Effect.gen(function* () {
  const config = configOf(yield* temporaryFolder)
  const services = Layer.mergeAll(LocalToken.layer(config.tokenFile), HubLink.layer(config)).pipe(
    Layer.provideMerge([
      edgeCoreLayer(config, builtIn({ node: process.execPath, scriptedProgram })),
      EdgeInstance.layer
    ])
  )
  const context = yield* Layer.build(services)
  const app = yield* HttpRouter.toHttpEffect(edgeRoutes(config)).pipe(Effect.provide(context))
  return {
    token: readFileSync(config.tokenFile, "utf8").trim(),
    ask: (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
      app.pipe(
        Effect.provideService(
          HttpServerRequest.HttpServerRequest,
          HttpServerRequest.fromWeb(
            new Request(`http://own.example${path}`, {
              method,
              headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
              ...(body === undefined ? {} : { body: JSON.stringify(body) })
            })
          )
        ),
        Effect.map((response) => HttpServerResponse.toWeb(response))
      )
  }
})

describe("The exported routes", { timeout: 60_000 }, () => {
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

  it.live("return only the public health without the token, even with forged headers", () =>
    Effect.gen(function* () {
      const { ask, token } = yield* mounted
      for (const headers of [{}, { "corral-authenticated": "yes" }, { authorization: "Bearer wrong" }]) {
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
