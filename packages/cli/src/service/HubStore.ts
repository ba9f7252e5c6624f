/** Migration and inspection of a Hub database without starting the Hub. Loaded only by `corral hub`. */
import { readHubConfig } from "@corral/hub/HubSettings"
import { HubConfig } from "@corral/hub/config/HubConfig"
import { inspectDatabase } from "@corral/hub/inspection/Inspection"
import { hubDatabaseLayer } from "@corral/hub/store/Database"
import { databaseProblem } from "@corral/service/DatabaseStart"
import { Context, Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

const commandFailed = ({ message }: { readonly message: string }) =>
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
  ).pipe(Effect.mapError(commandFailed))

/** Findings about the database that the settings name, by part. */
export const inspectHubStore = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const config = yield* Effect.mapError(readHubConfig(environment), commandFailed)
  return yield* Effect.mapError(inspectDatabase(config), (error) =>
    commandFailed(
      SqlError.isSqlError(error) ? { message: databaseProblem(error, config.databaseUrl) } : error
    )
  )
})
