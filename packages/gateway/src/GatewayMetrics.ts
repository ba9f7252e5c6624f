/** Metrics of a Gateway. Gateways with the same database report the same inbox and dead letters. */
import { clockSkewMetric } from "@corral/service/clock/ClockSkew"
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { CurrentMetrics, type MetricRow, type Reading } from "@corral/service/telemetry/Metrics"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { queryRow } from "./store/RowQueries.ts"

export const gatewayMetrics = {
  events: {
    name: "events_total",
    kind: "counter",
    what: "Webhook requests by outcome: `kept` (stored), `known` (already stored), `ignored`, `refused`, or `unavailable` (not stored in time).",
    labels: ["platform", "outcome"]
  },
  depth: { name: "inbox_depth", kind: "gauge", what: "Stored events that are not processed yet." },
  oldest: {
    name: "inbox_oldest_age_seconds",
    kind: "gauge",
    what: "Age of the oldest event in the inbox; 0 if the inbox is empty."
  },
  deadLetters: {
    name: "dead_letters",
    kind: "gauge",
    what: "Events of the last month that could not be processed."
  },
  clockSkew: clockSkewMetric("the database server"),
  handled: {
    name: "handled_total",
    kind: "counter",
    what: "Attempts to process events by outcome: `done`, `buried` (moved to dead letters), or `retried` (scheduled again).",
    labels: ["outcome"]
  },
  calls: {
    name: "outbound_calls_total",
    kind: "counter",
    what: "Calls to chat platforms by outcome: `taken` (accepted), `refused`, or `unavailable`.",
    labels: ["platform", "call", "outcome"]
  }
} as const satisfies Readonly<Record<string, MetricRow>>

const CountsRow = Schema.Struct({
  depth: Schema.Number,
  oldest: Schema.NullOr(Schema.Date),
  dead: Schema.Number
})

/** Metrics from the database, read in one indexed statement when the metrics are scraped. */
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
