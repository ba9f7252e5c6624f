/** A Hub that starts while PostgreSQL recovers from a crash, or while another Hub migrates the database. */
import { holdTable } from "@corral/testing/postgres/HeldTable"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { openStartingPostgres } from "@corral/testing/postgres/FrontedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { hubDatabaseLayer } from "../../src/store/Database.ts"

describe("The Hub's database", () => {
  const read = (url: string) => {
    const config = { ...hubDefaults, home: "/nowhere", databaseUrl: Redacted.make(url) }
    const layer = Layer.provide(hubDatabaseLayer, Layer.succeed(HubConfig, config))
    const look = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT id FROM users`)
    return Effect.runPromise(Effect.provide(look, layer))
  }

  it("is waited for while its server starts", async () => {
    const database = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(database))
    const { refused, url } = await openStartingPostgres(database, 3)
    assert.deepStrictEqual(await read(url), [])
    assert.strictEqual(refused(), 3)
  })

  it("is waited for while another Hub migrates it, for longer than a request waits for a lock", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    const { released } = await holdTable(url, "corral_migrations", "2500 ms")
    assert.deepStrictEqual(await read(url), [])
    assert.isTrue(await released)
  })
})
