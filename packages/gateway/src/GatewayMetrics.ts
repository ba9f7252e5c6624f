/** What a Gateway counts, beside what every service does. What is asked of the database is the same at each of several Gateways. */
import type { MetricRow } from "@corral/service/telemetry/MetricRow"

export const gatewayMetrics = {
  events: {
    name: "events_total",
    kind: "counter",
    what: "What came in by webhook, by how it was acknowledged: `kept`, `ignored`, `refused`; `known` was kept before, `unavailable` could not be kept in time.",
    labels: ["platform", "outcome"]
  },
  depth: { name: "inbox_depth", kind: "gauge", what: "Events that are kept and not done." },
  oldest: {
    name: "inbox_oldest_age_seconds",
    kind: "gauge",
    what: "Age of the oldest of them; 0 where there is none."
  },
  deadLetters: {
    name: "dead_letters",
    kind: "gauge",
    what: "Events that nothing came of, of the last month."
  },
  handled: {
    name: "handled_total",
    kind: "counter",
    what: "Turns of events, by what came of them: `done`, `buried` as a dead letter, or `retried` later.",
    labels: ["outcome"]
  },
  calls: {
    name: "outbound_calls_total",
    kind: "counter",
    what: "What was said to chat platforms: `taken`, `refused`, or they were `unavailable`.",
    labels: ["platform", "call", "outcome"]
  }
} as const satisfies Readonly<Record<string, MetricRow>>
