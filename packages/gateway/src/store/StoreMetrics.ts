/** Metrics from the database, read in one indexed statement when the metrics are scraped. */
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { CurrentMetrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { gatewayMetrics } from "../GatewayMetrics.ts"
import { queryRow } from "./RowQueries.ts"

const CountsRow = Schema.Struct({
  depth: Schema.Number,
  oldest: Schema.NullOr(Schema.Date),
  dead: Schema.Number
})

export const gatewayStoreMetrics = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const { skewMs } = yield* DatabaseClock
    const metrics = yield* CurrentMetrics
    const count = queryRow({
      Request: Schema.Void,
      Result: CountsRow,
      execute: () => sql`
        SELECT count(*)::int AS depth, min(received_at) AS oldest, (SELECT count(*)::int FROM dead_letters) AS dead
        FROM inbox WHERE done_at IS NULL`
    })
    const readings = Effect.gen(function* () {
      const row = yield* count()
      if (row === undefined) return []
      const age = row.oldest === null ? 0 : (clock.currentTimeMillisUnsafe() - row.oldest.getTime()) / 1_000
      const found: ReadonlyArray<Reading> = [
        [gatewayMetrics.depth, row.depth],
        [gatewayMetrics.oldest, Math.max(0, age)],
        [gatewayMetrics.deadLetters, row.dead]
      ]
      return found
    })
    metrics.sample(readings)
    metrics.sample(Effect.sync(() => [[gatewayMetrics.clockSkew, skewMs() / 1_000]]))
  })
)
