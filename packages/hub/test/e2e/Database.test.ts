import type { PublicHealth } from "@corral/domain/http/Health"
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { HubProcess, openHub } from "@corral/testing/hub/HubProcess"
import { openPostgres, query } from "@corral/testing/postgres/OutsidePostgres"
import { migrations } from "../../src/store/migrations.ts"

/** Numbers of the migrations. */
const released = Object.keys(migrations)
  .map((name) => Number(name.slice(0, 4)))
  .toSorted((a, b) => a - b)

const METRICS_TOKEN = "metrics-token-of-a-test-0123456789"

describe("Hub database", () => {
  it("is migrated once by the first of several Hubs", async () => {
    const { url } = await openPostgres()
    const hubs = Array.from({ length: 3 }, () => new HubProcess({ env: { CORRAL_DATABASE_URL: url } }))
    try {
      await Promise.all(hubs.map((hub) => hub.start()))
      const steps = await query(url, "SELECT migration_id FROM corral_migrations ORDER BY migration_id")
      assert.deepStrictEqual(
        steps.map(({ migration_id }) => migration_id),
        released,
        "each step once, in order"
      )
      for (const hub of hubs) assert.strictEqual((await hub.client.ask("GET", "/health")).status, 200)
    } finally {
      await Promise.all(hubs.map((hub) => hub.remove()))
    }
  })

  it("makes the Hub unready while it is down, and ready when it is back", async () => {
    const { url } = await openPostgres()
    const hub = await openHub({ env: { CORRAL_DATABASE_URL: url, CORRAL_METRICS_TOKEN: METRICS_TOKEN } })
    hub.databaseUrl = url
    const { token } = await hub.people.signIn("ada")
    assert.strictEqual((await hub.client.ask("GET", "/client/audit", { token })).status, 200)
    const other = new URL("/template1", url).href
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'corral-hub %'`
    await query(other, "ALTER DATABASE postgres ALLOW_CONNECTIONS false")
    await query(other, cut)
    const missed = await hub.client.ask("GET", "/client/audit", { token })
    assert.deepStrictEqual([missed.status, (missed.body as { code: string }).code], [503, "overloaded"])
    assert.isNotNull(missed.headers.get("retry-after"))
    for (const path of ["/health", "/api/public/health"]) {
      const health = await hub.client.ask<PublicHealth>("GET", path)
      assert.deepStrictEqual(
        [health.status, health.body.status, health.body.problems],
        [503, "degraded", undefined]
      )
    }
    // The sign-in cannot be verified without the database; the metrics token can.
    assert.deepStrictEqual((await hub.client.ask("GET", "/health", { token })).body, { status: "degraded" })
    const response = await hub.client.ask<PublicHealth>("GET", "/health", { token: METRICS_TOKEN })
    assert.deepStrictEqual(
      [response.status, response.body.problems?.map(({ part }) => part)],
      [503, ["database"]],
      response.text
    )
    const live = await hub.client.ask("GET", "/health/live")
    assert.deepStrictEqual([live.status, live.body], [200, { status: "ok" }])
    await query(other, "ALTER DATABASE postgres ALLOW_CONNECTIONS true")
    assert.strictEqual((await hub.client.ask("GET", "/client/audit", { token })).status, 200)
  })

  it("can be copied as a folder while no Hub runs, and restored", async () => {
    const hub = await openHub({ embedded: "prepared" })
    const { token } = await hub.people.signIn("ada")
    await hub.people.close()
    await hub.end()
    const copy = new HubProcess({ embedded: true })
    try {
      mkdirSync(dirname(join(copy.home, "postgres")), { recursive: true, mode: 0o700 })
      // With its modes: the server refuses a folder that others may read.
      execFileSync("cp", ["-a", join(hub.home, "postgres"), join(copy.home, "postgres")])
      await copy.start()
      const answer = await copy.client.ask("GET", "/client/audit", { token })
      assert.strictEqual(answer.status, 200, "the sign-in of before")
    } finally {
      await copy.remove()
    }
  })
})
