/** A Hub whose database is behind a pooler. */
import { openPooledPostgres } from "@corral/testing/postgres/FrontedPostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { hubDatabaseLayer } from "../../src/store/Database.ts"

describe("The Hub's database behind a pooler that discards settings", () => {
  it("is refused with a sentence that names them", async () => {
    const database = await makeDatabase(await sharedServer(), { prepared: false })
    onTestFinished(() => dropDatabase(database))
    const databaseUrl = Redacted.make(await openPooledPostgres(database))
    const config = Layer.succeed(HubConfig, { ...hubDefaults, home: "/nowhere", databaseUrl })
    const built = Effect.scoped(Layer.build(Layer.provide(hubDatabaseLayer, config)))
    const { message } = await Effect.runPromise(Effect.flip(built))
    assert.include(message, "A pooler in front of the database discards settings of connections")
    assert.include(message, "plan_cache_mode")
  })
})
