/** Metrics of a Gateway. Gateways with the same database report the same inbox and dead letters. */
import { clockSkewMetric } from "@corral/service/clock/ClockSkew"
import type { MetricRow } from "@corral/service/telemetry/Metrics"

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
