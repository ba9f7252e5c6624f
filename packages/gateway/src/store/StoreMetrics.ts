/** Metrics from the database, read in one indexed statement when the metrics are scraped. */
import { CurrentMetrics, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { gatewayMetrics } from "../GatewayMetrics.ts"

interface Row {
  readonly depth: number
  readonly oldest: Date | null
  readonly dead: number
}

export const gatewayStoreMetrics = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const metrics = yield* CurrentMetrics
    const readings = Effect.gen(function* () {
      const [row] = yield* sql<Row>`
        SELECT count(*)::int AS depth, min(received_at) AS oldest, (SELECT count(*)::int FROM dead_letters) AS dead
        FROM inbox WHERE done_at IS NULL`
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
  })
)
