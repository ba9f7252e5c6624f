import type { PublicHealth } from "@corral/domain/http/Health"
import { assert, describe, it } from "@effect/vitest"
import { query } from "@corral/testing/postgres/PostgresServer"
import { pushedMessage } from "@corral/testing/gateway/FakeFeishu"
import { EVENTS, type GatewayOptions, GatewayProcess } from "@corral/testing/gateway/GatewayProcess"

const METRICS_TOKEN = "metrics-token-of-a-test-0123456789"

const withGateway = async (options: GatewayOptions, use: (gateway: GatewayProcess) => Promise<void>) => {
  const gateway = new GatewayProcess(options)
  try {
    await use(gateway)
  } finally {
    await gateway.remove()
  }
}

describe("node dist/gateway", () => {
  it("serves until SIGTERM, ends with 0, and finds again what it kept", () =>
    withGateway({}, async (gateway) => {
      await gateway.start()
      const health = await gateway.get("/health")
      assert.deepStrictEqual([health.status, health.body], [200, { status: "ok" }])
      // The documents are part of the build.
      assert.strictEqual((await gateway.get("/asyncapi.json")).status, 200)
      assert.strictEqual((await gateway.deliver(pushedMessage("ev_1"))).status, 200)
      assert.deepStrictEqual(await gateway.end("SIGTERM"), { code: 0, signal: null })
      assert.strictEqual(gateway.stderr, "")
      await gateway.start()
      assert.strictEqual((await gateway.deliver(pushedMessage("ev_1"))).status, 200)
      assert.strictEqual(await gateway.count("FROM corral_gateway.inbox"), 1)
    }))

  it("takes its part of a database once, though two start at a time", () =>
    withGateway({}, async (gateway) => {
      await gateway.prepare()
      const other = new GatewayProcess({ databaseUrl: gateway.databaseUrl })
      try {
        await Promise.all([gateway.start(), other.start()])
        const sent = pushedMessage("ev_both")
        const answers = await Promise.all([gateway.deliver(sent), other.deliver(sent)])
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200]
        )
        assert.strictEqual(await gateway.count("FROM corral_gateway.inbox"), 1)
      } finally {
        await other.end("SIGKILL")
      }
    }))

  it("serves no platform where none is set up", () =>
    withGateway(
      {
        env: {
          CORRAL_FEISHU_APP_ID: "",
          CORRAL_FEISHU_ENCRYPT_KEY: "",
          CORRAL_FEISHU_VERIFICATION_TOKEN: "",
          CORRAL_FEISHU_TENANTS: "",
          CORRAL_FEISHU_BOT_ID: ""
        }
      },
      async (gateway) => {
        await gateway.start()
        assert.strictEqual((await gateway.send(pushedMessage("ev_1"), EVENTS)).status, 404)
      }
    ))

  it("is alive but not ready without its database, and reports the cause only to an operator", () =>
    withGateway({ env: { CORRAL_METRICS_TOKEN: METRICS_TOKEN } }, async (gateway) => {
      await gateway.start()
      const other = new URL("/template1", gateway.databaseUrl).href
      const name = new URL(gateway.databaseUrl).pathname.slice(1)
      await query(other, `ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`)
      await query(other, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
      try {
        const health = await gateway.get("/health")
        assert.deepStrictEqual([health.status, health.body], [503, { status: "degraded" }])
        const response = await fetch(`${gateway.url}/health`, {
          headers: { authorization: `Bearer ${METRICS_TOKEN}` }
        })
        assert.deepStrictEqual(
          [response.status, ((await response.json()) as PublicHealth).problems?.map(({ part }) => part)],
          [503, ["database"]]
        )
        const live = await gateway.get("/health/live")
        assert.deepStrictEqual([live.status, live.body], [200, { status: "ok" }])
      } finally {
        await query(other, `ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`)
      }
    }))

  it("refuses an address that asks too often", () =>
    withGateway({ env: { CORRAL_GATEWAY_REQUESTS_PER_SECOND: "3" } }, async (gateway) => {
      await gateway.start()
      const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.get("/health")))
      const refused = answers.filter(({ status }) => status === 429)
      assert.isNotEmpty(refused)
      assert.strictEqual(refused[0]?.headers.get("retry-after"), "5")
    }))

  it("says which database it cannot reach without its password", () =>
    withGateway(
      { env: { CORRAL_DATABASE_URL: "postgres://corral:s3cret-word@127.0.0.1:1/x" } },
      async (gateway) => {
        assert.strictEqual((await gateway.startRefused()).code, 1)
        assert.match(gateway.stderr, /database \w+ at \S+ cannot be used: /)
        assert.notInclude(gateway.stderr, "s3cret")
      }
    ))
})
