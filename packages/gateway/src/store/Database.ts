/**
 * The Gateway's own PostgreSQL schema, with every migration applied. Other services may use the same database: the Gateway does not touch
 * their schemas.
 */
import { databaseProblem } from "@corral/service/DatabaseProblem"
import { PgClient } from "@effect/sql-pg"
import { Context, Data, Duration, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import type { GatewayConfig } from "../GatewayConfig.ts"
import { migrateGateway } from "./migrations.ts"

/** The database cannot be had; `message` is a sentence for a person. */
export class GatewayStoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly message: string
}> {}

const SCHEMA = "corral_gateway"
/** Key of the advisory lock for migrations. Any number that no other program uses. */
const LOCK = 7_204_110_926

const unavailable = (error: SqlError.SqlError, { databaseUrl }: GatewayConfig) =>
  new GatewayStoreUnavailable({ message: databaseProblem(error, databaseUrl) })

/** Of several Gateways that start at once, one does it and the others find it done. */
const alone = <A, E, R>(sql: SqlClient.SqlClient, self: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* sql.reserve
      const call = (name: string) => connection.executeUnprepared(`SELECT ${name}(${LOCK})`, [], undefined)
      yield* Effect.acquireRelease(call("pg_advisory_lock"), () => Effect.ignore(call("pg_advisory_unlock")))
      return yield* self
    })
  )

const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const making = Effect.andThen(sql.unsafe(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`), migrateGateway)
  return yield* alone(sql, making)
})

/** Provides `SqlClient`. Fails where the database cannot be reached, or is of a newer Corral. */
export const gatewayDatabaseLayer = (config: GatewayConfig) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const client = yield* PgClient.make({
        url: config.databaseUrl,
        applicationName: "corral-gateway",
        maxConnections: config.maxConnections,
        connectTimeout: Duration.seconds(10),
        startupParameters: { timezone: "UTC", search_path: SCHEMA }
      }).pipe(
        Effect.timeoutOrElse({
          duration: "30 seconds",
          orElse: () => Effect.fail(new GatewayStoreUnavailable({ message: "The database does not answer." }))
        })
      )
      yield* Effect.provideService(prepare, SqlClient.SqlClient, client)
      return Context.make(SqlClient.SqlClient, client)
    }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(error, config))))
  ).pipe(Layer.provide(Reactivity.layer))
