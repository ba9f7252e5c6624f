/** Migration of a Hub database without starting the Hub. Loaded only by `corral hub`. */
import { readHubConfig } from "@corral/hub/HubSettings"
import { HubConfig } from "@corral/hub/config/HubConfig"
import { hubDatabaseLayer } from "@corral/hub/store/Database"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

const migrationFailed = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

/** Runs pending migrations. Returns the names of all migrations, in order. */
export const migrateHubStore = (environment: Readonly<Record<string, string>>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const config = Layer.effect(HubConfig, readHubConfig(environment))
      const services = yield* Layer.build(Layer.provide(hubDatabaseLayer, config))
      const sql = Context.get(services, SqlClient.SqlClient)
      const steps = yield* sql<{
        readonly name: string
      }>`SELECT name FROM corral_migrations ORDER BY migration_id`
      return steps.map(({ name }) => name)
    })
  ).pipe(Effect.mapError(migrationFailed))
