/**
 * What a Hub measures of its database: commit times, with a durable record of its log every few seconds and with each check of readiness, and the metrics
 * that only the database has, read when metrics are collected, by one statement without a table scan.
 *
 * The server measures commits, so neither the load of the Hub nor the network counts. Nothing is written to tables.
 */
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { CommitTimes, type SlowCommits } from "@corral/service/CommitTimes"
import { CurrentMetrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { HubConfig } from "../config/HubConfig.ts"
import { hubMetrics } from "../HubMetrics.ts"
import { waitingTaskStates } from "./StateLists.ts"
import { storedRows } from "./StoredRows.ts"

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

/** Metrics that only the database has. Read when metrics are collected, by one statement without a table scan. */
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

const INTERVAL = "5 seconds"

const timeRows = storedRows("corral_commit_time", Schema.Struct({ ms: Schema.Number }))

/**
 * Commit times of the Hub's database: a durable record of its log every few seconds, and with each check of readiness.
 *
 * The server measures them, so neither the load of the Hub nor the network counts. Writes nothing to tables.
 */
export class CommitTime extends Context.Service<
  CommitTime,
  {
    /** Makes a commit and notes its time. */
    readonly measure: Effect.Effect<void, SqlError.SqlError>
    /** Slow commits of the last minute; `undefined` while commits are fast enough. */
    readonly slow: () => SlowCommits | undefined
  }
>()("corral/hub/CommitTime") {
  static readonly layer = Layer.effect(
    CommitTime,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const histogram = (yield* CurrentMetrics).histogram(hubMetrics.commit)
      const times = new CommitTimes()
      const measure = Effect.map(timeRows.first(sql`CALL corral_commit_time(NULL)`), (row) => {
        if (row === undefined) return
        times.note(row.ms)
        histogram.record(row.ms / 1_000)
      })
      // Untraced, and without a log: readiness reports a database that does not answer.
      yield* measure.pipe(Effect.ignoreCause, Effect.repeat(Schedule.spaced(INTERVAL)), Effect.forkScoped)
      return CommitTime.of({ measure, slow: () => times.slow() })
    })
  )
}
