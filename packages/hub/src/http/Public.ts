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
    return handlers.handleAll({
      health: () => health,
      publicHealth: () => health,
      publicStats: () =>
        Effect.map(
          Effect.orDie(sql<{
            readonly projects: number
            readonly devices: number
            readonly runs: number
            readonly active: number
          }>`
            SELECT (SELECT count(*)::int FROM projects) AS projects, (
              SELECT count(*)::int FROM devices
              WHERE revoked_at IS NULL AND lease_until > ${new Date(clock.currentTimeMillisUnsafe())}
            ) AS devices, (SELECT count(*)::int FROM runs) AS runs, (
              SELECT count(*)::int FROM runs WHERE state NOT IN ('completed', 'failed', 'cancelled')
            ) AS active`),
          ([row]) => ({
            projects: row?.projects ?? 0,
            devicesOnline: row?.devices ?? 0,
            runs: row?.runs ?? 0,
            runsActive: row?.active ?? 0
          })
        )
    })
  })
)
