/**
 * The Gateway's own PostgreSQL schema, with every migration applied. Other services may use the same database: the Gateway does not touch
 * their schemas.
 */
import { databaseClockLayer } from "@corral/service/clock/DatabaseClock"
import {
  connectionLimits,
  connectionSettingsProblem,
  databaseProblem,
  newerDatabaseProblem,
  whenServing
} from "@corral/service/DatabaseStart"
import { nodeVersionLayer } from "@corral/service/NodeVersion"
import { PgClient } from "@effect/sql-pg"
import { Context, Data, Duration, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { GatewayConfig } from "../GatewayConfig.ts"
import { gatewayMigrationNames, migrateGateway } from "./migrations.ts"

/** The database is unavailable. `message` is for the operator. */
export class GatewayStoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly message: string
}> {}

const SCHEMA = "corral_gateway"
/** Key of the advisory lock for migrations: any number that no other program uses. */
const MIGRATION_LOCK = 7_204_110_926

const unavailable = (error: SqlError.SqlError, { databaseUrl }: GatewayConfig) =>
  new GatewayStoreUnavailable({ message: databaseProblem(error, databaseUrl) })

/** Runs an effect under the advisory lock, so that Gateways that start together migrate one after the other. */
const withMigrationLock = <A, E, R>(sql: SqlClient.SqlClient, self: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* sql.reserve
      const call = (name: string) =>
        connection.executeUnprepared(`SELECT ${name}(${MIGRATION_LOCK})`, [], undefined)
      yield* Effect.acquireRelease(call("pg_advisory_lock"), () => Effect.ignore(call("pg_advisory_unlock")))
      return yield* self
    })
  )

/** Fails if the database belongs to a newer Corral. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const newer = yield* newerDatabaseProblem(sql, "migrations", gatewayMigrationNames)
  if (newer !== undefined) return yield* Effect.fail(new GatewayStoreUnavailable({ message: newer }))
  const migrate = Effect.andThen(sql.unsafe(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`), migrateGateway)
  return yield* withMigrationLock(sql, migrate)
})

const connect = (config: GatewayConfig) =>
  Effect.gen(function* () {
    const settings = {
      url: config.databaseUrl,
      applicationName: "corral-gateway",
      connectTimeout: Duration.seconds(10),
      // Detects a server that is gone without notice. A statement that waits for its answer would wait forever.
      keepAlive: Duration.seconds(10)
    }
    const unlimited = { timezone: "UTC", search_path: SCHEMA }
    const startupParameters = { ...unlimited, ...connectionLimits }
    const client = yield* PgClient.make({
      ...settings,
      maxConnections: config.maxConnections,
      startupParameters
    }).pipe(
      Effect.timeoutOrElse({
        duration: "30 seconds",
        orElse: () => Effect.fail(new GatewayStoreUnavailable({ message: "The database does not answer." }))
      })
    )
    const problem = yield* whenServing(connectionSettingsProblem(client, startupParameters))
    if (problem !== undefined) return yield* Effect.fail(new GatewayStoreUnavailable({ message: problem }))
    // Has no limits: a migration may take longer, and another Gateway that migrates is waited for as long. One connection waits for the lock.
    const migrating = PgClient.make({ ...settings, maxConnections: 2, startupParameters: unlimited })
    yield* whenServing(
      Effect.scoped(
        Effect.flatMap(migrating, (sql) => Effect.provideService(prepare, SqlClient.SqlClient, sql))
      )
    )
    return Context.make(SqlClient.SqlClient, client)
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(error, config))))

/** Provides `SqlClient`. Fails if the database is unreachable, or was migrated by a newer Corral. */
export const gatewayDatabaseLayer = Layer.effectContext(Effect.flatMap(GatewayConfig, connect)).pipe(
  Layer.provide(Reactivity.layer),
  Layer.provide(nodeVersionLayer("A Gateway"))
)

/** Provides the clock of the database to the services above it. */
export const gatewayDatabaseClockLayer = Layer.effectContext(
  Effect.flatMap(GatewayConfig, (config) =>
    Effect.catchTag(Layer.build(databaseClockLayer), "SqlError", (error) =>
      Effect.fail(unavailable(error, config))
    )
  )
)
