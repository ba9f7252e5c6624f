/**
 * `/health`, `/health/live`, `/api/public/*`: readiness, liveness, the status of each layer, and counts. The Hub is not ready without a database that takes
 * writes. Without its identity provider only new sign-ins fail. Slow commits of the database are a problem, as is a clock that differs
 * from the database's, but the Hub works.
 *
 * Callers share one probe of the database per second. A background probe checks the provider, so no answer waits for it.
 */
import { type HealthProblem, layerStatus, livenessOk, type PublicHealth } from "@corral/domain/http/Health"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { clockSkewProblem } from "@corral/service/clock/ClockOffset"
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { slowCommitsProblem } from "@corral/service/CommitTimes"
import { probeWrites } from "@corral/service/DatabaseStart"
import { metricsTokenMatcher } from "@corral/service/http/MetricsPage"
import { MetricsToken } from "@corral/service/telemetry/Telemetry"
import { Clock, Context, Effect, Layer, Schedule, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { HubCredentials } from "../signin/HubCredentials.ts"
import { IdentityProvider } from "../signin/IdentityProvider.ts"
import { CommitTime } from "../store/StoreMetrics.ts"
import { endedRunStates } from "../store/StateLists.ts"
import { storedRows } from "../store/StoredRows.ts"
import { credentialOf } from "./Callers.ts"

export interface HubReadiness {
  readonly isReady: boolean
  readonly problems: ReadonlyArray<HealthProblem>
}

export class Readiness extends Context.Service<
  Readiness,
  { readonly current: Effect.Effect<HubReadiness> }
>()("corral/hub/Readiness") {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const commitTime = yield* CommitTime
      const { skewMs } = yield* DatabaseClock
      const provider = yield* IdentityProvider
      const hasDatabase = yield* Effect.cachedWithTTL(
        Effect.andThen(probeWrites(sql), commitTime.measure).pipe(
          Effect.timeout("2 seconds"),
          Effect.isSuccess
        ),
        "1 second"
      )
      let canSignIn = true
      const probeProvider = Effect.gen(function* () {
        const { isReachable } = yield* provider.configured
        const isNowReachable = yield* isReachable
        if (isNowReachable !== canSignIn)
          yield* isNowReachable
            ? Effect.logInfo("identity provider recovered")
            : Effect.logWarning("identity provider unreachable")
        canSignIn = isNowReachable
        // Without a provider there is nothing to probe.
      }).pipe(Effect.catch(() => Effect.never))
      yield* Effect.forkScoped(Effect.repeat(probeProvider, Schedule.spaced("30 seconds")))

      return Readiness.of({
        current: Effect.map(hasDatabase, (isReady) => {
          const slow = commitTime.slow()
          return {
            isReady,
            problems: [
              ...(isReady ? [] : [noDatabase]),
              ...(slow === undefined ? [] : [slowCommitsProblem("database", slow, SLOW_DATABASE_HINT)]),
              ...clockSkewProblem(skewMs(), "the database server", CLOCK_HINT),
              ...(canSignIn ? [] : [noProvider])
            ]
          }
        })
      })
    })
  )
}

const withLayers = (health: PublicHealth) => ({ ...health, layers: layerStatus })

const noDatabase: HealthProblem = {
  part: "database",
  message: "The database can't be reached or takes no writes.",
  hint: "Check that PostgreSQL is running and reachable and has free disk space. The Hub restarts its embedded one and reconnects without a restart."
}

const SLOW_DATABASE_HINT =
  "Every event and decision waits for the disk of PostgreSQL. Check what else writes to it, or move the database to a faster disk."

const CLOCK_HINT =
  "Synchronize both machines with NTP. The Hub works with the time of the database server; its sign-ins and logs show that time."

const noProvider: HealthProblem = {
  part: "sign_in",
  message: "Can't reach the identity provider. New sign-ins fail.",
  hint: "Check CORRAL_OIDC_ISSUER and that the Hub can reach it. Existing sessions continue."
}

/** Rows that are counted. Beyond, the database's own estimate is used, which its maintenance keeps. */
const COUNTED = 10_000

const rowCount = (sql: SqlClient.SqlClient, table: "projects" | "runs") => sql`(
  SELECT CASE WHEN counted <= ${COUNTED} THEN counted ELSE GREATEST(counted, reltuples)::int END
  FROM pg_class, (SELECT count(*)::int AS counted FROM (SELECT 1 FROM ${sql(table)} LIMIT ${sql.literal(String(COUNTED + 1))}) AS few) AS first
  WHERE oid = ${table}::regclass
)`

const countRows = storedRows(
  "projects, devices, runs",
  Schema.Struct({
    projects: Schema.Int,
    devices_online: Schema.Int,
    runs: Schema.Int,
    runs_active: Schema.Int
  })
)
const none = { projects: 0, devices_online: 0, runs: 0, runs_active: 0 }
const countsOf = ({ devices_online, projects, runs, runs_active }: typeof none = none) => ({
  projects,
  devicesOnline: devices_online,
  runs,
  runsActive: runs_active
})

export const publicEndpoints = HttpApiBuilder.group(
  HubApi,
  "public",
  Effect.fnUntraced(function* (handlers) {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const readiness = yield* Readiness
    const credentials = yield* HubCredentials
    const carriesMetricsToken = metricsTokenMatcher(yield* MetricsToken)
    // While the database is unreachable, only the metrics token can be verified.
    const isAuthorized = Effect.fnUntraced(function* ({ headers }: HttpServerRequest.HttpServerRequest) {
      if (carriesMetricsToken(headers.authorization)) return true
      return yield* credentials
        .verify(credentialOf(headers), { method: "GET", path: "/health", keyScope: "read" })
        .pipe(Effect.timeout("2 seconds"), Effect.isSuccess)
    })
    const health = Effect.gen(function* () {
      const { isReady, problems } = yield* readiness.current
      const status = problems.length === 0 ? ("ok" as const) : ("degraded" as const)
      const isDetailed =
        problems.length > 0 && (yield* isAuthorized(yield* HttpServerRequest.HttpServerRequest))
      const body: PublicHealth = isDetailed ? { status, problems } : { status }
      return yield* isReady ? Effect.succeed(body) : Effect.fail(body)
    })
    // Anyone may ask: what is counted is counted for all who ask within a few seconds.
    const stats = yield* Effect.cachedWithTTL(
      Effect.suspend(() =>
        countRows.first(sql`
          SELECT ${rowCount(sql, "projects")} AS projects, (
            SELECT count(*)::int FROM devices
            WHERE linked AND revoked_at IS NULL AND lease_until > ${new Date(clock.currentTimeMillisUnsafe())}
          ) AS devices_online, ${rowCount(sql, "runs")} AS runs, (
            SELECT count(*)::int FROM runs WHERE state NOT IN ${endedRunStates(sql)}
          ) AS runs_active`)
      ).pipe(Effect.map(countsOf)),
      "5 seconds"
    )
    return handlers.handleAll({
      health: () => health,
      live: () => Effect.succeed(livenessOk),
      publicHealth: () => Effect.mapBoth(health, { onFailure: withLayers, onSuccess: withLayers }),
      publicStats: () => Effect.orDie(stats)
    })
  })
)
