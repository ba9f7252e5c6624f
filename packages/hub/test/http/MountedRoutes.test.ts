/** The Hub in another program's server: its checks and its authentication are the same as elsewhere. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { HttpApi } from "effect/http-api"
import { requiredAuthorityOf } from "@corral/domain/hub-api/HubAuthorization"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { hubRoutes, hubServicesLayer } from "../../src/Hub.ts"
import { csrfOf, newToken } from "../../src/signin/SessionToken.ts"
import { otherServer } from "@corral/testing/http/OtherServer"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { until } from "@corral/testing/time/Until"

const ORIGIN = "https://own.example"

/** Open to anyone, or opened by what the request's body or a Gateway's own token proves. */
const isOpen = (authority: string): boolean => authority === "public.read" || authority === "device.join"

const operations: Array<{ readonly method: string; readonly path: string }> = []
HttpApi.reflect(HubApi, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) =>
    void operations.push({ method: endpoint.method, path: endpoint.path.replaceAll(/:[A-Za-z]+/g, "x") })
})

describe("The Hub's routes", () => {
  it("declare their authentication in the contract", () => {
    let checked = 0
    HttpApi.reflect(HubApi, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, group, middleware }) => {
        const name = `${group.identifier}.${endpoint.identifier}`
        const authority = requiredAuthorityOf(endpoint)
        const keys = [...middleware].map(({ key }) => String(key))
        assert.isDefined(authority, name)
        if (authority === undefined || isOpen(authority)) return
        checked++
        assert.isTrue(
          keys.some((key) => /SessionAuthority|GatewayAuthority/.test(key)),
          `${name} asks for ${authority} and has ${keys.join(", ")}`
        )
      }
    })
    assert.isAbove(checked, 50)
  })
})

describe("The Hub's routes in another program's server", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
  })
  afterAll(() => hub.remove())

  /** The Hub below `/corral`. The returned function sends requests to it. */
  const mounted = Effect.gen(function* () {
    const config = {
      ...hubDefaults,
      home: hub.home,
      publicUrl: ORIGIN,
      maxConnections: 3,
      requestsPerSecond: 100_000,
      signInsPerMinute: 600,
      databaseUrl: hub.databaseUrl === undefined ? undefined : Redacted.make(hub.databaseUrl)
    }
    const server = yield* otherServer(
      Layer.fresh(hubRoutes({ path: "/corral" })).pipe(Layer.provide(Layer.succeed(HubConfig, config)))
    )
    return (method: string, path: string, headers: Record<string, string>, body?: string) =>
      server.ask(method, path === "/own" ? path : `/corral${path}`, { host: "own.example", ...headers }, body)
  })

  it.live("have the documents and the discovery files below the path", () =>
    Effect.gen(function* () {
      const ask = yield* mounted
      for (const kind of ["openapi", "asyncapi"]) {
        const { body, status } = yield* ask("GET", `/${kind}.json`, {})
        assert.deepStrictEqual([status, body[kind] === undefined], [200, false])
      }
      assert.include((yield* ask("GET", "/robots.txt", {})).text, "Disallow: /")
      assert.include((yield* ask("GET", "/llms.txt", {})).text, "(openapi.json)")
      const { headers, status } = yield* ask("GET", "/nothing", { accept: "text/html" })
      assert.deepStrictEqual([status, headers.get("content-type")], [404, "text/html; charset=utf-8"])
    }).pipe(Effect.scoped)
  )

  it.live("refuse another Host and another Origin at every endpoint", () =>
    Effect.gen(function* () {
      const ask = yield* mounted
      assert.isAbove(operations.length, 50)
      for (const { method, path } of operations) {
        for (const headers of [
          { host: "evil.example" },
          { origin: "https://evil.example" },
          { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }
        ]) {
          const response = yield* ask(method, path, headers)
          const { code, requestId } = response.body
          assert.deepStrictEqual(
            [method, path, response.status, code],
            [method, path, 403, "permission_denied"]
          )
          assert.match(String(requestId), /^req_/)
          assert.strictEqual(response.headers.get("x-request-id"), requestId)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.live("refuse a write with the session cookie that has no Origin or no CSRF header", () =>
    Effect.gen(function* () {
      const ask = yield* mounted
      const token = newToken("session")
      const cookie = `__Secure-corral=${token}`
      for (const { method, path } of operations) {
        if (method === "GET") continue
        for (const headers of [
          { cookie },
          { cookie, origin: ORIGIN },
          { cookie, "x-csrf-token": csrfOf(token) }
        ]) {
          const response = yield* ask(method, path, headers)
          assert.deepStrictEqual([method, path, response.status], [method, path, 403])
        }
      }
      const headers = { cookie, origin: ORIGIN, "x-csrf-token": csrfOf(token) }
      const response = yield* ask("POST", "/client/auth/logout", headers)
      assert.strictEqual(response.status, 401, "the guard admits it; the session is unknown")
    }).pipe(Effect.scoped)
  )

  it.live("refuse two credentials and a body that is not JSON", () =>
    Effect.gen(function* () {
      const ask = yield* mounted
      const both = { cookie: "__Secure-corral=x", authorization: "Bearer x" }
      assert.strictEqual((yield* ask("GET", "/client/projects", both)).status, 401)
      const text = { "content-type": "text/plain" }
      assert.strictEqual((yield* ask("POST", "/client/projects", text, "hi")).status, 415)
    }).pipe(Effect.scoped)
  )

  it.live("find what is new, because their services index texts for search", () =>
    Effect.gen(function* () {
      const server = yield* Effect.promise(sharedServer)
      const url = yield* Effect.acquireRelease(
        Effect.promise(() => makeDatabase(server, { prepared: true })),
        (database) => Effect.promise(() => dropDatabase(database))
      )
      yield* Effect.promise(() =>
        query(url, "INSERT INTO search_changes (source, id) VALUES ('messages', 'msg_0')")
      )
      const config = { ...hubDefaults, home: hub.home, databaseUrl: Redacted.make(url) }
      yield* Layer.build(Layer.fresh(hubServicesLayer).pipe(Layer.provide(Layer.succeed(HubConfig, config))))
      const isIndexed = async () =>
        (await query(url, "SELECT 1 FROM search_changes")).length === 0 || undefined
      yield* Effect.promise(() => until(isIndexed, "the index"))
    }).pipe(Effect.scoped)
  )

  it.live("answer a signed-in client, and leave the other program's routes alone", () =>
    Effect.gen(function* () {
      const ask = yield* mounted
      assert.strictEqual((yield* ask("GET", "/client/projects", {})).status, 401)
      const signedIn = yield* ask("GET", "/client/projects", { authorization: `Bearer ${ada.token}` })
      assert.strictEqual(signedIn.status, 200)
      assert.strictEqual((yield* ask("GET", "/own", { host: "evil.example" })).status, 200)
    }).pipe(Effect.scoped)
  )
})
