/** A Gateway whose database is behind a pooler. */
import { openPooledPostgres } from "@corral/testing/postgres/FrontedPostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { gatewayDatabaseLayer } from "../../src/store/Database.ts"
import { query } from "@corral/testing/postgres/OutsidePostgres"

describe("The Gateway's database behind a pooler that discards settings", () => {
  it("is refused before anything is created in another schema", async () => {
    const database = await makeDatabase(await sharedServer(), { prepared: false })
    onTestFinished(() => dropDatabase(database))
    const databaseUrl = Redacted.make(await openPooledPostgres(database))
    const config = Layer.succeed(GatewayConfig, { ...gatewayDefaults, databaseUrl })
    const built = Effect.scoped(Layer.build(Layer.provide(gatewayDatabaseLayer, config)))
    const { message } = await Effect.runPromise(Effect.flip(built))
    assert.include(message, "search_path")
    assert.deepStrictEqual(
      await query(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
      []
    )
  })
})
