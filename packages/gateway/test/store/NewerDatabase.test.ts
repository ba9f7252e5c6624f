/** Start on a database that a later version has migrated. */
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import { gatewayDatabaseLayer } from "../../src/store/Database.ts"
import { gatewayMigrationNames } from "../../src/store/migrations.ts"

const newest = Math.max(...gatewayMigrationNames.map((name) => Number(name.slice(0, 4))))

describe("A Gateway on a database of a later version", () => {
  const start = (url: string) => {
    const config = { ...gatewayDefaults, databaseUrl: Redacted.make(url) }
    const layer = Layer.provide(gatewayDatabaseLayer, Layer.succeed(GatewayConfig, config))
    return Effect.runPromise(Effect.result(Effect.scoped(Layer.build(layer))))
  }

  it.each([1, 5, 900])("does not start, and says why: %i migrations later", async (later) => {
    const url = await makeDatabase(await sharedServer(), { prepared: false })
    onTestFinished(() => dropDatabase(url))
    assert.strictEqual((await start(url))._tag, "Success")
    await query(
      url,
      `INSERT INTO corral_gateway.migrations (migration_id, name) VALUES (${newest + later}, 'of_a_later_version')`
    )
    const failed = await start(url)
    assert(failed._tag === "Failure")
    assert.strictEqual(
      failed.failure.message,
      "The database belongs to a later version of Corral: it has the migration of_a_later_version. Start that version, or restore the backup that was made before its upgrade."
    )
    await query(url, `DELETE FROM corral_gateway.migrations WHERE migration_id > ${newest}`)
    assert.strictEqual((await start(url))._tag, "Success")
  })
})
