import type { PublicHealth } from "@corral/domain/http/Health"
import { openHub } from "@corral/testing/hub/HubProcess"
import { openPostgres, query } from "@corral/testing/postgres/OutsidePostgres"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"

describe("a database with slow commits", () => {
  it("is a problem in health, while the Hub stays ready", async () => {
    const { url } = await openPostgres()
    const token = "a-metrics-token-of-a-test-with-a-database"
    const hub = await openHub({ env: { CORRAL_DATABASE_URL: url, CORRAL_METRICS_TOKEN: token } })
    const health = async () => {
      const { body, status } = await hub.client.ask<PublicHealth>("GET", "/health", { token })
      assert.strictEqual(status, 200)
      return body
    }
    assert.strictEqual((await health()).status, "ok")
    // The server waits before each write of its log.
    await query(url, "ALTER SYSTEM SET commit_siblings = 0")
    await query(url, "ALTER SYSTEM SET commit_delay = 60000")
    await query(url, "SELECT pg_reload_conf()")
    const [problem] = await until(async () => (await health()).problems, "the slow commits", 30_000)
    assert.isDefined(problem)
    assert.strictEqual(problem.part, "database")
    assert.match(problem.message, /^Commits are slow: \d+ of \d+ in the last minute took longer than 50 ms/)
    assert.deepStrictEqual((await hub.client.ask("GET", "/health")).body, { status: "degraded" })
    const metrics = await (
      await fetch(`${hub.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    ).text()
    assert.match(metrics, /^corral_hub_commit_duration_seconds_bucket\{le="0.05"\} \d+$/m)
  })
})
