/** A Gateway that starts while PostgreSQL recovers from a crash. */
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { openStartingPostgres } from "@corral/testing/postgres/StartingPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { gatewayDatabaseLayer } from "../../src/store/Database.ts"

describe("The Gateway's database", { timeout: 60_000 }, () => {
  it("is waited for while its server starts", async () => {
    const database = await makeDatabase(await sharedServer(), { prepared: false })
    onTestFinished(() => dropDatabase(database))
    const { refused, url } = await openStartingPostgres(database, 3)
    const config = { ...gatewayDefaults, databaseUrl: Redacted.make(url) }
    const layer = Layer.provide(gatewayDatabaseLayer, Layer.succeed(GatewayConfig, config))
    const look = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT * FROM inbox`)
    assert.deepStrictEqual(await Effect.runPromise(Effect.provide(look, layer)), [])
    assert.strictEqual(refused(), 3)
  })
})
