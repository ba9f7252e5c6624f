/** Metrics that only the database has. Read when metrics are collected, by one statement without a table scan. */
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { CurrentMetrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { HubConfig } from "../config/HubConfig.ts"
import { hubMetrics } from "../HubMetrics.ts"
import { storedRows } from "./StoredRows.ts"
import { waitingTaskStates } from "./StateLists.ts"

const metricsRows = storedRows(
  "devices, tasks, pg_stat_activity",
  Schema.Struct({
    devices: Schema.Int,
    pending: Schema.Int,
    queued: Schema.Int,
    busy: Schema.Int,
    idle: Schema.Int
  })
)

export const hubStoreMetricsLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { maxConnections } = yield* HubConfig
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const { skewMs } = yield* DatabaseClock
    const metrics = yield* CurrentMetrics
    const readings = Effect.gen(function* () {
      const now = new Date(clock.currentTimeMillisUnsafe())
      // Each Hub has its own name for its connections.
      const row = yield* metricsRows.first(sql`
          SELECT
            (SELECT count(*)::int FROM devices WHERE linked AND revoked_at IS NULL AND lease_until > ${now}) AS devices,
            pending::int, queued::int, busy::int, idle::int
          FROM
            (SELECT count(*) FILTER (WHERE state = 'pending') AS pending, count(*) FILTER (WHERE state = 'queued') AS queued
              FROM tasks WHERE state IN ${waitingTaskStates(sql)}) waiting,
            (SELECT count(*) FILTER (WHERE state <> 'idle') AS busy, count(*) FILTER (WHERE state = 'idle') AS idle
              FROM pg_stat_activity WHERE application_name = current_setting('application_name')) pool`)
      if (row === undefined) return []
      const values: ReadonlyArray<Reading> = [
        [hubMetrics.devices, row.devices],
        [hubMetrics.tasks, row.pending, { state: "pending" }],
        [hubMetrics.tasks, row.queued, { state: "queued" }],
        [hubMetrics.connections, row.busy, { state: "busy" }],
        [hubMetrics.connections, row.idle, { state: "idle" }],
        [hubMetrics.mostConnections, maxConnections]
      ]
      return values
    })
    metrics.sample(readings)
    metrics.sample(Effect.sync(() => [[hubMetrics.clockSkew, skewMs() / 1_000]]))
  })
)
