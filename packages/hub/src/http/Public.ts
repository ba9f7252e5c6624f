/** `/health`, `/health/live`, `/api/public/*`: readiness, liveness and counts. */
import { livenessOk, type PublicHealth } from "@corral/domain/http/Health"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { metricsTokenMatcher } from "@corral/service/http/MetricsPage"
import { MetricsToken } from "@corral/service/telemetry/Telemetry"
import { Clock, Effect, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { HubCredentials } from "../signin/HubCredentials.ts"
import { credentialOf } from "./RequestCredential.ts"
import { Readiness } from "./Readiness.ts"
import { endedRunStates } from "../store/StateLists.ts"
import { storedRows } from "../store/StoredRows.ts"

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
      publicHealth: () => health,
      publicStats: () => Effect.orDie(stats)
    })
  })
)
