/** What only the database knows: asked for when somebody reads the metrics, in one statement that walks no table. */
import { CurrentMetrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"

interface Row {
  readonly devices: number
  readonly pending: number
  readonly queued: number
  readonly busy: number
  readonly idle: number
}

/** `maxConnections` is the pool's limit. */
export const hubStoreMetricsLayer = (maxConnections: number) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const metrics = yield* CurrentMetrics
      const readings = Effect.gen(function* () {
        const now = new Date(clock.currentTimeMillisUnsafe())
        // The name of the connections is this Hub's own.
        const [row] = yield* sql<Row>`
          SELECT
            (SELECT count(*)::int FROM devices WHERE revoked_at IS NULL AND lease_until > ${now}) AS devices,
            pending::int, queued::int, busy::int, idle::int
          FROM
            (SELECT count(*) FILTER (WHERE state = 'pending') AS pending, count(*) FILTER (WHERE state = 'queued') AS queued
              FROM tasks WHERE state IN ('pending', 'queued')) waiting,
            (SELECT count(*) FILTER (WHERE state <> 'idle') AS busy, count(*) FILTER (WHERE state = 'idle') AS idle
              FROM pg_stat_activity WHERE application_name = current_setting('application_name')) pool`
        if (row === undefined) return []
        const found: ReadonlyArray<Reading> = [
          [hubMetrics.devices, row.devices],
          [hubMetrics.tasks, row.pending, { state: "pending" }],
          [hubMetrics.tasks, row.queued, { state: "queued" }],
          [hubMetrics.connections, row.busy, { state: "busy" }],
          [hubMetrics.connections, row.idle, { state: "idle" }],
          [hubMetrics.mostConnections, maxConnections]
        ]
        return found
      })
      metrics.sample(readings)
    })
  )
