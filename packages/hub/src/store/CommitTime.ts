/**
 * Commit times of the Hub's database: a durable record of its log every few seconds, and with each check of readiness.
 *
 * The server measures them, so neither the load of the Hub nor the network counts. Writes nothing to tables.
 */
import { CommitTimes, type SlowCommits } from "@corral/service/CommitTimes"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Context, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import { storedRows } from "./StoredRows.ts"

const INTERVAL = "5 seconds"

const timeRows = storedRows("corral_commit_time", Schema.Struct({ ms: Schema.Number }))

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
