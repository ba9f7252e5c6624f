/**
 * The Gateway's part of a PostgreSQL: a schema of its own with every migration step taken, and the durable queue in it. Other services may
 * live in the same database; nothing of theirs is touched.
 */
import { databaseProblem } from "@corral/service/DatabaseProblem"
import { PgClient } from "@effect/sql-pg"
import { Context, Data, Duration, Effect, Layer, Scope } from "effect"
import { PersistedQueue } from "effect/persistence"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import type { GatewayConfig } from "../GatewayConfig.ts"
import { migrate } from "./migrations.ts"

/** The database cannot be had; `message` is a sentence for a person. */
export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{ readonly message: string }> {}

const SCHEMA = "corral_gateway"
/** Of the advisory lock under which the schema is made. Any number that nobody else takes. */
const LOCK = 7_204_110_926

const unavailable = (error: SqlError.SqlError, { databaseUrl }: GatewayConfig) =>
  new StoreUnavailable({ message: databaseProblem(error, databaseUrl) })

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

/** What a killed Gateway was working on is taken up by another, or the next one, after `EXPIRY`. */
const EXPIRY = Duration.seconds(6)
const REFRESH = Duration.seconds(2)

const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const scope = yield* Effect.scope
  const making = Effect.gen(function* () {
    yield* sql.unsafe(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
    yield* migrate
    return yield* PersistedQueue.makeStoreSql({
      tableName: "turns",
      // Local offers wake the takers; this is for turns that another Gateway left, and for tries again.
      pollInterval: "500 millis",
      lockRefreshInterval: REFRESH,
      lockExpiration: EXPIRY
    }).pipe(Scope.provide(scope))
  })
  return yield* alone(sql, making)
})

/** Provides `SqlClient` and the store of the queue. Fails where the database cannot be reached, or is of a newer Corral. */
export const layer = (config: GatewayConfig) =>
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
          orElse: () => Effect.fail(new StoreUnavailable({ message: "The database does not answer." }))
        })
      )
      const store = yield* Effect.provideService(prepare, SqlClient.SqlClient, client)
      return Context.make(SqlClient.SqlClient, client).pipe(
        Context.add(PersistedQueue.PersistedQueueStore, store)
      )
    }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(error, config))))
  ).pipe(Layer.provide(Reactivity.layer))
