/** Metrics of an Edge, in addition to those of every service. */
import { clockSkewMetric } from "@corral/service/clock/ClockOffset"
import type { MetricRow } from "@corral/service/telemetry/Metrics"

export const edgeMetrics = {
  live: { name: "runs_live", kind: "gauge", what: "Live runs." },
  queued: { name: "runs_queued", kind: "gauge", what: "Runs that wait until a live run ends." },
  ended: {
    name: "runs_ended_total",
    kind: "counter",
    what: "Ended runs by outcome. `lost`: the store failed during the run.",
    labels: ["outcome"]
  },
  clockSkew: clockSkewMetric("the Hub"),
  events: { name: "events_appended_total", kind: "counter", what: "Events written to disk." },
  commit: {
    name: "commit_duration_seconds",
    kind: "histogram",
    what: "Time to write a batch of events to disk."
  },
  stateFiles: {
    name: "runtime_state_files_total",
    kind: "counter",
    what: "Files that confined runs left in the state of their runtime. `returned`: the user's state has them. `unreturned`: they could not be taken back.",
    labels: ["outcome"]
  },
  approvals: { name: "approvals_open", kind: "gauge", what: "Pending approvals." },
  inputs: { name: "inputs_open", kind: "gauge", what: "Questions, forms and plans that wait for a person." },
  searches: {
    name: "process_searches_total",
    kind: "counter",
    what: "Searches of all processes for those that ended runs have left. Runs that end at about the same time share one."
  },
  linked: {
    name: "link_connected",
    kind: "gauge",
    what: "1 while the Edge is connected to the Hub, else 0."
  },
  followers: { name: "event_sockets_open", kind: "gauge", what: "Open WebSockets of event streams." }
} as const satisfies Readonly<Record<string, MetricRow>>
