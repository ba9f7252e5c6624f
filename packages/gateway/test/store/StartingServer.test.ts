/** A Gateway that starts while PostgreSQL recovers from a crash, or while another Gateway migrates the database. */
import { holdTable } from "@corral/testing/postgres/HeldTable"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { openStartingPostgres } from "@corral/testing/postgres/FrontedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { gatewayDatabaseLayer } from "../../src/store/Database.ts"

describe("The Gateway's database", () => {
  const read = (url: string) => {
    const config = { ...gatewayDefaults, databaseUrl: Redacted.make(url) }
    const layer = Layer.provide(gatewayDatabaseLayer, Layer.succeed(GatewayConfig, config))
    const look = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT * FROM inbox`)
    return Effect.runPromise(Effect.provide(look, layer))
  }

  it("is waited for while its server starts", async () => {
    const database = await makeDatabase(await sharedServer(), { prepared: false })
    onTestFinished(() => dropDatabase(database))
    const { refused, url } = await openStartingPostgres(database, 3)
    assert.deepStrictEqual(await read(url), [])
    assert.strictEqual(refused(), 3)
  })

  it("is waited for while another Gateway migrates it, for longer than a request waits for a lock", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: false })
    onTestFinished(() => dropDatabase(url))
    await read(url)
    const { released } = await holdTable(url, "corral_gateway.migrations", "2500 ms")
    assert.deepStrictEqual(await read(url), [])
    assert.isTrue(await released)
  })
})
