/** The Gateway's routes in another program's server: they keep their guard and the verification of their bodies. */
import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
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
import { message, sendRaw } from "@corral/testing/http/RawRequest"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { botsOf } from "../../src/ChatPlatforms.ts"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { PendingAnswers } from "../../src/handling/PendingAnswers.ts"
import { gatewayGuardLayer, MAX_EVENT_BYTES } from "../../src/http/GatewayRequestPolicy.ts"
import { gatewayRoutes } from "../../src/http/routes.ts"
import { Inbox } from "../../src/inbox/Inbox.ts"
import { SenderQueues } from "../../src/inbox/SenderQueues.ts"
import { Platforms } from "../../src/platform/Platforms.ts"
import { gatewayDatabaseClockLayer, gatewayDatabaseLayer } from "../../src/store/Database.ts"

const feishu = {
  appId: APP,
  domain: "https://open.feishu.cn",
  encryptKey: Redacted.make(KEY),
  verificationToken: Redacted.make(TOKEN),
  tenants: [TENANT]
}

const mounted = Effect.gen(function* () {
  const url = yield* Effect.acquireRelease(
    Effect.promise(async () => makeDatabase(await sharedServer(), { prepared: false })),
    (repository) => Effect.promise(() => dropDatabase(repository))
  )
  const services = Layer.mergeAll(
    PendingAnswers.layer,
    Layer.provideMerge(Inbox.layer, SenderQueues.layer),
    Layer.provideMerge(gatewayGuardLayer, Platforms.layer(botsOf({ feishu })))
  ).pipe(
    Layer.provideMerge(gatewayDatabaseClockLayer),
    Layer.provideMerge(gatewayDatabaseLayer),
    Layer.provide(Layer.succeed(GatewayConfig, { ...gatewayDefaults, databaseUrl: Redacted.make(url) }))
  )
  const otherRoute = HttpRouter.add("*", "/own", HttpServerResponse.text("the other program's"))
  const context = yield* Layer.build(
    HttpRouter.serve(Layer.merge(gatewayRoutes, otherRoute), {
      disableListenLog: true,
      disableLogger: true
    }).pipe(
      Layer.provideMerge(services),
      Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : 0
  const sql = Context.get(context, SqlClient.SqlClient)
  return {
    port,
    kept: Effect.map(sql`SELECT upstream_id FROM corral_gateway.inbox`, (rows) => rows.length),
    ask: (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: Buffer) =>
      Effect.promise(async () => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, {
          method,
          headers,
          ...(body === undefined ? {} : { body: new Uint8Array(body) })
        })
        const text = await response.text()
        const { code, requestId } = text.startsWith("{") ? JSON.parse(text) : {}
        return { status: response.status, headers: response.headers, text, code, requestId }
      })
  }
})

describe("The Gateway's routes in another program's server", { timeout: 60_000 }, () => {
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
            assert.deepStrictEqual([target, answer.status, answer.code], [target, status, code])
            assert.match(answer.requestId, /^req_/)
            assert.strictEqual(answer.headers.get("x-request-id"), answer.requestId)
            assert.strictEqual(answer.headers.get("cache-control"), "no-store")
          }
          const head = [
            `POST ${path} HTTP/1.1`,
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
        assert.deepStrictEqual([answer.status, answer.code], [401, "unauthorized"])
        assert.match(answer.requestId, /^req_/)
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
