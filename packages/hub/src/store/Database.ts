/**
 * The Hub's database: an outside PostgreSQL where the config names one, else the embedded one, with every migration step taken.
 *
 * A statement that fails is a defect of ours or of the database's: services let it die, and the server tells the two apart.
 */
import { databaseProblem } from "@corral/service/DatabaseProblem"
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { join } from "node:path"
import type { HubConfig } from "../config/HubConfig.ts"
import { type EmbeddedPostgres, startEmbeddedPostgres, HubStoreUnavailable } from "./EmbeddedPostgres.ts"
import { migrateHubStore } from "./migrations.ts"

/** Every Hub's connections carry it, so that Hubs on one server see each other. */
const APPLICATION = "corral-hub"

/** Who cannot find out whether it is the last leaves the server as it is. */
const DECIDE_WITHIN = "3 seconds"

/**
 * The last to leave stops the server; whoever is still connected goes on using it. By a connection of its own: the pool's are perhaps
 * gone by then, and a pool that is being closed makes no more.
 */
const stopIfLast = (config: PgConnection.Config, server: EmbeddedPostgres, own: string) =>
  PgConnection.make(config).pipe(
    Effect.flatMap((connection) =>
      connection.queryValues(
        "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE $1 AND application_name <> $2 LIMIT 1",
        [`${APPLICATION} %`, own]
      )
    ),
    Effect.scoped,
    Effect.map((others) => (others.length === 0 ? server.stop : Effect.void)),
    Effect.timeoutOption(DECIDE_WITHIN),
    Effect.map(Option.getOrElse(() => Effect.void)),
    Effect.orElseSucceed(() => Effect.void)
  )

const unavailable = (error: SqlError.SqlError, { databaseUrl }: HubConfig) =>
  new HubStoreUnavailable({ message: databaseProblem(error, databaseUrl) })

/** Provides `SqlClient` and `PgClient`. Fails where the database cannot be reached, or is of a newer Corral. */
export const hubDatabaseLayer = (config: HubConfig) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const own = `${APPLICATION} ${randomUUID().slice(0, 8)}`
      const server =
        config.databaseUrl === undefined
          ? yield* startEmbeddedPostgres(join(config.home, "postgres"))
          : undefined
      // Runs when the connections are gone; what it does is decided while they are there.
      let leave: Effect.Effect<void> = Effect.void
      yield* Effect.addFinalizer(() => Effect.suspend(() => leave))
      const client = yield* PgClient.make({
        ...(server === undefined
          ? { url: config.databaseUrl }
          : { path: server.path, username: server.username, database: server.database }),
        applicationName: own,
        maxConnections: config.maxConnections,
        connectTimeout: Duration.seconds(10),
        startupParameters: {
          // A date is a day wherever the Hub stands.
          timezone: "UTC",
          // A plan for any person is one for a person with little: whoever has a hundred thousand rows would wait a second for each page.
          plan_cache_mode: "force_custom_plan"
        }
      }).pipe(
        Effect.timeoutOrElse({
          duration: "30 seconds",
          orElse: () => Effect.fail(new HubStoreUnavailable({ message: "The database does not answer." }))
        })
      )
      if (server !== undefined) {
        const decide = Effect.map(stopIfLast({ ...client.config }, server, own), (decided) => {
          leave = decided
        })
        yield* Effect.addFinalizer(() => Effect.interruptible(decide))
        // Ends before that is decided: a server that is stopped stays stopped.
        yield* Effect.forkScoped(server.supervise)
      }
      yield* Effect.provideService(migrateHubStore, SqlClient.SqlClient, client)
      return Context.make(PgClient.PgClient, client).pipe(Context.add(SqlClient.SqlClient, client))
    }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(error, config))))
  ).pipe(Layer.provide(Reactivity.layer))
