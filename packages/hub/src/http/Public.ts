/** `/health`, `/api/public/*`: whether it lives, and counts. Nothing that names anyone. */
import { HubApi } from "@corral/domain/HubApi"
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"

export const publicReads = HttpApiBuilder.group(
  HubApi,
  "public",
  Effect.fnUntraced(function* (handlers) {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const health = sql`SELECT 1`.pipe(
      Effect.timeout("2 seconds"),
      Effect.match({
        onFailure: () => ({ status: "degraded" as const }),
        onSuccess: () => ({ status: "ok" as const })
      })
    )
    // Anyone may ask: what is counted is counted for all who ask within a few seconds.
    const stats = yield* Effect.cachedWithTTL(
      Effect.suspend(
        () => sql<{
          readonly projects: number
          readonly devicesOnline: number
          readonly runs: number
          readonly runsActive: number
        }>`
          SELECT (SELECT count(*)::int FROM projects) AS projects, (
            SELECT count(*)::int FROM devices
            WHERE revoked_at IS NULL AND lease_until > ${new Date(clock.currentTimeMillisUnsafe())}
          ) AS "devicesOnline", (SELECT count(*)::int FROM runs) AS runs, (
            SELECT count(*)::int FROM runs WHERE state NOT IN ('completed', 'failed', 'cancelled')
          ) AS "runsActive"`
      ).pipe(Effect.map(([row]) => row ?? { projects: 0, devicesOnline: 0, runs: 0, runsActive: 0 })),
      "5 seconds"
    )
    return handlers.handleAll({
      health: () => health,
      publicHealth: () => health,
      publicStats: () => Effect.orDie(stats)
    })
  })
)
