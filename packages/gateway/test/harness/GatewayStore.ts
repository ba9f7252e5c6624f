/** A Gateway's store in its own database, for services that need nothing else. */
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { Effect, Layer, Redacted } from "effect"
import { GatewayConfig, gatewayDefaults } from "../../src/GatewayConfig.ts"
import * as Database from "../../src/store/Database.ts"

/** Layer of the database at an address, with the Gateway's tables. */
export const storeAt = (url: string) =>
  Database.gatewayDatabaseLayer.pipe(
    Layer.provide(Layer.succeed(GatewayConfig, { ...gatewayDefaults, databaseUrl: Redacted.make(url) }))
  )

/** Address of an empty database, which is dropped at the end of the scope. */
export const emptyDatabase = Effect.acquireRelease(
  Effect.promise(async () => makeDatabase(await sharedServer(), { prepared: false })),
  (url) => Effect.promise(() => dropDatabase(url))
)
