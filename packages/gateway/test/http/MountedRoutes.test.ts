/** The Gateway in another program's server: its checks and the verification of bodies are the same as elsewhere. */
import {
  APP,
  unsigned,
  envelope,
  feishuMessage,
  KEY,
  pushedMessage,
  TENANT,
  TOKEN
} from "@corral/testing/gateway/FakeFeishu"
import { CARDS, EVENTS } from "@corral/testing/gateway/GatewayProcess"
import { otherServer } from "@corral/testing/http/OtherServer"
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { gatewayRoutes } from "../../src/Gateway.ts"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { MAX_EVENT_BYTES } from "../../src/http/GatewayRequestPolicy.ts"

const feishu = {
  connection: "webhook",
  appId: APP,
  domain: "https://open.feishu.cn",
  encryptKey: Redacted.make(KEY),
  verificationToken: Redacted.make(TOKEN),
  tenants: [TENANT]
} as const

/** The Gateway below `/corral`; `ask` sends requests to it. */
const mounted = Effect.gen(function* () {
  const url = yield* Effect.acquireRelease(
    Effect.promise(async () => makeDatabase(await sharedServer(), { prepared: false })),
    (repository) => Effect.promise(() => dropDatabase(repository))
  )
  const config = { ...gatewayDefaults, feishu, databaseUrl: Redacted.make(url) }
  const { ask, port } = yield* otherServer(
    Layer.fresh(gatewayRoutes({ path: "/corral" })).pipe(Layer.provide(Layer.succeed(GatewayConfig, config)))
  )
  return {
    port,
    kept: Effect.map(
      Effect.promise(() => query(url, "SELECT upstream_id FROM corral_gateway.inbox")),
      (rows) => rows.length
    ),
    ask: (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: Buffer) =>
      ask(method, path === "/own" ? path : `/corral${path}`, { host: "any.example", ...headers }, body)
  }
})

describe("The Gateway's routes in another program's server", () => {
  it.live("have the documents below the path", () =>
    Effect.gen(function* () {
      const { ask } = yield* mounted
      for (const kind of ["openapi", "asyncapi"]) {
        const { body, status } = yield* ask("GET", `/${kind}.json`)
        assert.deepStrictEqual([status, body[kind] === undefined], [200, false])
      }
      const { headers, status } = yield* ask("GET", "/nothing", { accept: "text/html" })
      assert.deepStrictEqual([status, headers.get("content-type")], [404, "text/html; charset=utf-8"])
    }).pipe(Effect.scoped)
  )

  it.live(
    "refuse bodies of another kind or size, and platforms without a bot, before they read the body",
    () =>
      Effect.gen(function* () {
        const { ask, kept, port } = yield* mounted
        const { body, headers } = pushedMessage("ev_refused")
        for (const path of [EVENTS, CARDS]) {
          const cases = [
            [path, { ...headers, "content-type": "text/plain" }, 415, "unsupported_media_type"],
            [
              path,
              { ...headers, "content-type": "application/x-www-form-urlencoded" },
              415,
              "unsupported_media_type"
            ],
            [path.replace("feishu", "slack"), headers, 404, "not_found"]
          ] as const
          for (const [target, sent, status, code] of cases) {
            const answer = yield* ask("POST", target, sent, body)
            assert.deepStrictEqual([target, answer.status, answer.body["code"]], [target, status, code])
            assert.match(String(answer.body["requestId"]), /^req_/)
            assert.strictEqual(answer.headers.get("x-request-id"), answer.body["requestId"])
            assert.strictEqual(answer.headers.get("cache-control"), "no-store")
          }
          const head = [
            `POST /corral${path} HTTP/1.1`,
            "Host: x",
            "Content-Type: application/json",
            `Content-Length: ${MAX_EVENT_BYTES + 1}`
          ]
          const large = yield* Effect.promise(() => sendRaw(port, message(head)))
          assert.strictEqual(large.status, 413)
        }
        assert.strictEqual(yield* kept, 0)
      }).pipe(Effect.scoped)
  )

  it.live("refuse a body that is not signed", () =>
    Effect.gen(function* () {
      const { ask, kept } = yield* mounted
      const { body, headers } = pushedMessage("ev_forged")
      const forged = { ...headers, "x-lark-signature": "0".repeat(64) }
      const plain = unsigned(envelope({ event_id: "ev_plain" }, feishuMessage("hello")))
      for (const [sent, bytes] of [
        [forged, body],
        [{ "content-type": "application/json" }, body],
        [plain.headers, plain.body]
      ] as const) {
        const answer = yield* ask("POST", EVENTS, sent, bytes)
        assert.deepStrictEqual([answer.status, answer.body["code"]], [401, "unauthorized"])
        assert.match(String(answer.body["requestId"]), /^req_/)
      }
      assert.strictEqual(yield* kept, 0)
    }).pipe(Effect.scoped)
  )

  it.live("accept a signed body under any Host, and leave the other program's routes alone", () =>
    Effect.gen(function* () {
      const { ask, kept } = yield* mounted
      const { body, headers } = pushedMessage("ev_kept")
      const answer = yield* ask("POST", EVENTS, { ...headers, origin: "https://own.example" }, body)
      assert.deepStrictEqual([answer.status, answer.text], [200, "{}"])
      assert.strictEqual(yield* kept, 1)
      const otherResponse = yield* ask("POST", "/own", { "content-type": "text/plain" }, Buffer.from("x"))
      assert.deepStrictEqual([otherResponse.status, otherResponse.text], [200, "the other program's"])
    }).pipe(Effect.scoped)
  )
})
