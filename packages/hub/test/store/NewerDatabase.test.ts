/** Start on a database that a later version has migrated. */
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { hubDatabaseLayer } from "../../src/store/Database.ts"
import { migrations } from "../../src/store/migrations.ts"

const newest = Math.max(...Object.keys(migrations).map((name) => Number(name.slice(0, 4))))

describe("A Hub on a database of a later version", () => {
  const start = (url: string) => {
    const config = { ...hubDefaults, home: "/nonexistent", databaseUrl: Redacted.make(url) }
    const layer = Layer.provide(hubDatabaseLayer, Layer.succeed(HubConfig, config))
    return Effect.runPromise(Effect.result(Effect.scoped(Layer.build(layer))))
  }

  it.each([1, 5, 900])("does not start, and says why: %i migrations later", async (later) => {
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    assert.strictEqual((await start(url))._tag, "Success")
    await query(
      url,
      `INSERT INTO corral_migrations (migration_id, name) VALUES (${newest + later}, 'of_a_later_version')`
    )
    const failed = await start(url)
    assert(failed._tag === "Failure")
    assert.strictEqual(
      failed.failure.message,
      "The database belongs to a later version of Corral: it has the migration of_a_later_version. Start that version, or restore the backup that was made before its upgrade."
    )
    await query(url, `DELETE FROM corral_migrations WHERE migration_id > ${newest}`)
    assert.strictEqual((await start(url))._tag, "Success")
  })
})
