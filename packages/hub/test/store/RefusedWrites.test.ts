import { openHub } from "@corral/testing/hub/HubProcess"
import { openPostgres, query } from "@corral/testing/postgres/OutsidePostgres"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"

const END_CONNECTIONS =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'corral-hub %'"

describe("a database that takes no writes", () => {
  it("makes the Hub unready until it takes them again", async () => {
    const { url } = await openPostgres()
    const hub = await openHub({ env: { CORRAL_DATABASE_URL: url } })
    hub.databaseUrl = url
    const statusAfter = async (change: string, expected: number) => {
      await query(url, change)
      await query(url, END_CONNECTIONS)
      const status = async () => (await hub.client.ask("GET", "/health")).status === expected
      await until(async () => ((await status()) ? true : undefined), `${expected} after ${change}`)
    }
    // As on a full disk, files cannot grow. Reads and small writes work.
    await statusAfter("ALTER DATABASE postgres SET temp_file_limit = '100kB'", 503)
    assert.strictEqual((await hub.client.ask("GET", "/health/live")).status, 200)
    await statusAfter("ALTER DATABASE postgres RESET temp_file_limit", 200)
  })
})
