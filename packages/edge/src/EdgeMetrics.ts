/** What an Edge counts, beside what every service does. */
import type { MetricRow } from "@corral/service/telemetry/MetricRow"

export const edgeMetrics = {
  live: { name: "runs_live", kind: "gauge", what: "Runs that are alive." },
  queued: { name: "runs_queued", kind: "gauge", what: "Runs that wait for their turn." },
  ended: {
    name: "runs_ended_total",
    kind: "counter",
    what: "Runs that ended, by how; `lost` where the store failed under one.",
    labels: ["outcome"]
  },
  events: { name: "events_appended_total", kind: "counter", what: "Events that became durable." },
  commit: {
    name: "commit_duration_seconds",
    kind: "histogram",
    what: "Until events that were appended together were on disk."
  },
  approvals: { name: "approvals_open", kind: "gauge", what: "Approvals that wait for a decision." },
  linked: { name: "link_connected", kind: "gauge", what: "1 while there is a link to the Hub." },
  followers: { name: "event_sockets_open", kind: "gauge", what: "WebSockets that follow events." }
} as const satisfies Readonly<Record<string, MetricRow>>
