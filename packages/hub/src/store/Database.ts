/**
 * The Hub's database: an external PostgreSQL where the configuration names one, otherwise the embedded one. All migrations are
 * applied. Waits for locks end while all connections are in use. Other services in the same process get its address.
 *
 * A failed statement is a defect of Corral or of the database. Services pass it on, and the HTTP server distinguishes the two.
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
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Option, Redacted, Schedule, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { dirname, join } from "node:path"
import { HubConfig } from "../config/HubConfig.ts"
import { type EmbeddedPostgres, HubStoreUnavailable, startEmbeddedPostgres } from "./EmbeddedPostgres.ts"
import { migrations, runHubMigrations } from "./migrations.ts"
import { HUB_APPLICATION, shareOutbox } from "./Notices.ts"

/**
 * Client of the Hub's database for frequent statements that find every row by its key: PostgreSQL plans such a statement once per connection.
 * Planning takes longer than executing it.
 *
 * Does not take part in transactions of the other client: each statement is a separate transaction.
 */
export class PlannedSql extends Context.Service<PlannedSql, SqlClient.SqlClient>()("corral/hub/PlannedSql") {}

/** Whether the statements of the transaction in progress are planned once. */
const IsPlanned = Context.Reference("corral/hub/IsPlanned", { defaultValue: () => false })

/**
 * Runs `self` in a transaction whose statements are planned once per connection, for frequent transactions that find every row by its key. Also the
 * checks of references: PostgreSQL plans each of them like a statement. As a part of another transaction, it changes the plans of the rest of that one, too.
 */
export const plannedTransaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    Effect.flatMap(IsPlanned, (isPlanned) =>
      isPlanned
        ? sql.withTransaction(self)
        : sql.withTransaction(Effect.andThen(planOnce(sql), Effect.provideService(self, IsPlanned, true)))
    )

/** Connections for such statements, of those that a Hub may have. */
const plannedConnections = (maxConnections: number): number => Math.max(1, Math.floor(maxConnections / 4))

/** The configured `postgres://` URL, or the URL of the embedded server's socket. */
export const storeAddress: Effect.Effect<Redacted.Redacted, never, PgClient.PgClient> = Effect.map(
  PgClient.PgClient,
  ({ config: { database = "postgres", path = "", url, username = "" } }) => {
    if (url !== undefined) return url
    const address = new URL(`postgres://localhost/${encodeURIComponent(database)}`)
    address.username = username
    address.searchParams.set("host", dirname(path))
    return Redacted.make(address.href)
  }
)

// End of waits for locks while all connections are in use (ADR 113).
//
// Guarantees: statements that wait behind a transaction that does not move, such as one of a paused Hub, do not use up the connections of this Hub: they
// are cancelled as soon as no connection is free, and their requests fail as `overloaded`.
//
// Does not: cancel a statement that waits in a queue that moves. While a connection is free, `lock_timeout` is the limit.

/** Time within which a pool with a free connection lends it. */
const CONNECTION_WAIT = "50 millis"
/** Pause between two looks at the connections: after one was free, and after none was. A look costs an idle Hub CPU time. */
const PAUSE = Duration.millis(500)
const SHORT_PAUSE = Duration.millis(100)
/** Wait for one transaction after which its queue does not move. Longer than a commit of a loaded server. */
const STUCK_MS = 200

/** Whether the pool has no free connection. */
const isUsedUp = (pool: SqlClient.SqlClient): Effect.Effect<boolean> =>
  Effect.scoped(Effect.asVoid(pool.reserve)).pipe(
    Effect.timeoutOption(CONNECTION_WAIT),
    Effect.map(Option.isNone),
    // No server: connections are not the problem.
    Effect.orElseSucceed(() => false)
  )

/**
 * Cancels the statements of this Hub that wait behind a transaction that does not move. The first in the queue of a row waits for the transaction
 * that has the row, and each other one for the first: the first has waited for long only if that transaction does not move.
 */
const cancelStuck = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError.SqlError> =>
  Effect.map(
    sql`
      WITH waits AS MATERIALIZED (
        SELECT * FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - make_interval(secs => ${STUCK_MS / 1_000})
      ), stuck AS (
        SELECT pid FROM waits WHERE locktype <> 'tuple'
      ), behind AS (
        SELECT waits.pid FROM waits JOIN pg_locks AS first USING (locktype, database, relation, page, tuple)
        WHERE waits.locktype = 'tuple' AND first.granted AND first.pid IN (SELECT pid FROM stuck)
      )
      SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE pid IN (SELECT pid FROM stuck UNION SELECT pid FROM behind)
        AND application_name = current_setting('application_name') AND wait_event_type = 'Lock'`,
    ({ length }) => length
  )

/** Looks at the pools until the scope closes. `control` has a connection that is always free. */
const limitLockWaits = Effect.fnUntraced(function* (
  pools: ReadonlyArray<SqlClient.SqlClient>,
  control: SqlClient.SqlClient
) {
  const look = Effect.gen(function* () {
    const usedUp = yield* Effect.forEach(pools, isUsedUp, { concurrency: "unbounded" })
    if (!usedUp.includes(true)) return PAUSE
    const cancelled = yield* cancelStuck(control)
    if (cancelled > 0) yield* Effect.logWarning("cancelled statements that waited for locks", { cancelled })
    return SHORT_PAUSE
  })
  yield* look.pipe(
    Effect.catchCause((cause) =>
      Effect.as(Effect.logWarning("failed to look for waits for locks", cause), PAUSE)
    ),
    Effect.flatMap(Effect.sleep),
    Effect.forever,
    Effect.forkScoped
  )
})

/** Dates do not depend on the time zone of the Hub's machine. */
const TIME_ZONE = "UTC"

/** Connections that no request can use. */
const CONTROL_CONNECTIONS = 1

/** A Hub that can't find out in time whether it is the last one leaves the server running. */
const DECIDE_WITHIN = "3 seconds"

/** How long the server may show the connections of a Hub that has just ended. */
const LOOKS = { schedule: Schedule.spaced("100 millis"), times: 10 }

/** Stops the server when the connections of this Hub are closed, unless another Hub uses it. Of Hubs that stop at the same time, each may stop it. */
const stopIfLast = (config: PgConnection.Config, server: EmbeddedPostgres) =>
  PgConnection.make({ ...config, applicationName: `${HUB_APPLICATION}-stop` }).pipe(
    Effect.flatMap((connection) =>
      connection
        .queryValues("SELECT 1 FROM pg_stat_activity WHERE application_name LIKE $1 LIMIT 1", [
          `${HUB_APPLICATION} %`
        ])
        .pipe(Effect.repeat({ until: (hubs) => hubs.length === 0, ...LOOKS }))
    ),
    Effect.scoped,
    Effect.timeoutOption(DECIDE_WITHIN),
    Effect.interruptible,
    Effect.map(Option.exists((hubs) => hubs.length === 0)),
    Effect.orElseSucceed(() => false),
    Effect.flatMap((isLast) => (isLast ? server.stop : Effect.void))
  )

const unavailable = (error: SqlError.SqlError, { databaseUrl }: HubConfig) =>
  new HubStoreUnavailable({ message: databaseProblem(error, databaseUrl) })

/** Has its connection always. */
const controlClient = (settings: PgClient.PgPoolConfig) =>
  PgClient.make({
    ...settings,
    minConnections: CONTROL_CONNECTIONS,
    maxConnections: CONTROL_CONNECTIONS,
    startupParameters: { timezone: TIME_ZONE, ...connectionLimits }
  })

/** Connections without limits: a migration may take longer, and another Hub that migrates is waited for as long. */
const UNLIMITED = { timezone: TIME_ZONE }

/** Fails if the database belongs to a newer Corral. */
const migrate = (
  connecting: Effect.Effect<PgClient.PgClient, SqlError.SqlError, Reactivity.Reactivity | Scope.Scope>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* connecting
      const newer = yield* newerDatabaseProblem(sql, "corral_migrations", Object.keys(migrations))
      if (newer !== undefined) return yield* Effect.fail(new HubStoreUnavailable({ message: newer }))
      yield* Effect.provideService(runHubMigrations, SqlClient.SqlClient, sql)
    })
  )

const connect = (config: HubConfig) =>
  Effect.gen(function* () {
    const applicationName = `${HUB_APPLICATION} ${randomUUID().slice(0, 8)}`
    const server =
      config.databaseUrl === undefined
        ? yield* startEmbeddedPostgres(join(config.home, "postgres"))
        : undefined
    // Runs after the connections are closed.
    let leave: Effect.Effect<void> = Effect.void
    yield* Effect.addFinalizer(() => Effect.suspend(() => leave))
    const planned = plannedConnections(config.maxConnections)
    const settings = {
      ...(server === undefined
        ? { url: config.databaseUrl }
        : { path: server.path, username: server.username, database: server.database }),
      applicationName: applicationName,
      connectTimeout: Duration.seconds(10),
      // Detects a server that is gone without notice. A statement that waits for its answer would wait forever.
      keepAlive: Duration.seconds(10)
    }
    // A generic plan fits users with few rows: a user with a hundred thousand would wait a second for each page.
    const startupParameters = {
      timezone: TIME_ZONE,
      plan_cache_mode: "force_custom_plan",
      ...connectionLimits
    }
    const client = yield* PgClient.make({
      ...settings,
      maxConnections: Math.max(2, config.maxConnections - planned - CONTROL_CONNECTIONS),
      startupParameters
    }).pipe(
      Effect.timeoutOrElse({
        duration: "30 seconds",
        orElse: () =>
          Effect.fail(
            new HubStoreUnavailable({
              message: "The database did not respond. Check that it is running and reachable."
            })
          )
      })
    )
    if (server !== undefined) {
      leave = stopIfLast({ ...client.config }, server)
      // Ends before that, so that a stopped server stays stopped.
      yield* Effect.forkScoped(server.supervise)
    }
    const problem = yield* whenServing(connectionSettingsProblem(client, startupParameters))
    if (problem !== undefined) return yield* Effect.fail(new HubStoreUnavailable({ message: problem }))
    yield* whenServing(
      migrate(PgClient.make({ ...settings, maxConnections: 1, startupParameters: UNLIMITED }))
    )
    const plannedClient = yield* PgClient.make({
      ...settings,
      maxConnections: planned,
      startupParameters: { timezone: TIME_ZONE, ...PLANNED_PARAMETERS, ...connectionLimits }
    })
    shareOutbox(client, plannedClient)
    yield* limitLockWaits([client, plannedClient], yield* controlClient(settings))
    return Context.make(PgClient.PgClient, client).pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(PlannedSql, plannedClient)
    )
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(unavailable(error, config))))

/**
 * Each statement is planned once, often before its tables have grown. A plan that reads a whole small table would be kept while it grows, until the
 * server has analyzed it.
 */
const PLANNED_PARAMETERS = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  // Servers before PostgreSQL 18 would compile a plan that reads a whole table nevertheless.
  jit: "off"
}

const planOnce = (sql: SqlClient.SqlClient) =>
  sql`SELECT ${sql.literal(
    Object.entries(PLANNED_PARAMETERS)
      .map(([name, value]) => `set_config('${name}', '${value}', true)`)
      .join(", ")
  )}`

/** Provides `SqlClient`, `PgClient` and `PlannedSql`. Fails if the database can't be reached or belongs to a newer Corral. */
export const hubDatabaseLayer = Layer.effectContext(Effect.flatMap(HubConfig, connect)).pipe(
  Layer.provide(Reactivity.layer),
  Layer.provide(nodeVersionLayer("A Hub"))
)

/** Provides the clock of the database to the services above it. */
export const hubDatabaseClockLayer = Layer.effectContext(
  Effect.flatMap(HubConfig, (config) =>
    Effect.catchTag(Layer.build(databaseClockLayer), "SqlError", (error) =>
      Effect.fail(unavailable(error, config))
    )
  )
)
