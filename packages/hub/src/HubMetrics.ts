/** Metrics of a Hub, in addition to those of every service. Metrics from the database are equal at all Hubs with that database. */
import { clockSkewMetric } from "@corral/service/clock/ClockOffset"
import type { MetricRow } from "@corral/service/telemetry/Metrics"

export const hubMetrics = {
  devices: {
    name: "devices_online",
    kind: "gauge",
    what: "Online devices, on all Hubs with this database."
  },
  tasks: {
    name: "tasks_waiting",
    kind: "gauge",
    what: "Tasks without a run: `pending` tasks are being dispatched, `queued` tasks wait for their device.",
    labels: ["state"]
  },
  links: { name: "links_open", kind: "gauge", what: "Devices connected to this Hub." },
  events: { name: "events_mirrored_total", kind: "counter", what: "Events received from devices." },
  cost: {
    name: "run_cost_usd_total",
    kind: "counter",
    what: "Cost of runs in US dollars, as their reports arrived at this Hub. `program`: the runtime reported it. `estimated`: the Edge computed it from tokens and prices. Runs without a price are not part of it. Of each run, the most that it has reported counts.",
    labels: ["source"]
  },
  tokens: {
    name: "run_tokens_total",
    kind: "counter",
    what: "Tokens of runs, as their reports arrived at this Hub. Of each run, the most that it has reported counts.",
    labels: ["direction"]
  },
  limits: {
    name: "limits_used",
    kind: "gauge",
    what: "Limits of projects of which at least 80 % (`near`) or all (`reached`) is used today. The same at every Hub.",
    labels: ["state"]
  },
  commands: {
    name: "commands_total",
    kind: "counter",
    what: "Commands to devices by outcome: `done`, `refused` (by the Edge), `not_sent` (in time), `waits` (for the device), `unknown` (sent, no result), `failed` (in the Hub).",
    labels: ["command", "outcome"]
  },
  commit: {
    name: "commit_duration_seconds",
    kind: "histogram",
    what: "Time of a commit in the database, measured by its server every 5 s."
  },
  clockSkew: clockSkewMetric("the database server"),
  followers: { name: "event_sockets_open", kind: "gauge", what: "Open WebSockets of event streams." },
  news: { name: "news_readers", kind: "gauge", what: "Open change feeds of browsers and programs." },
  connections: {
    name: "database_connections",
    kind: "gauge",
    what: "Connections of this Hub to its database.",
    labels: ["state"]
  },
  mostConnections: {
    name: "database_connections_limit",
    kind: "gauge",
    what: "Limit of this Hub's connections to its database."
  }
} as const satisfies Readonly<Record<string, MetricRow>>
