/** What a Hub counts, beside what every service does. What is asked of the database is the same at each of several Hubs. */
import type { MetricRow } from "@corral/service/telemetry/MetricRow"

export const hubMetrics = {
  devices: {
    name: "devices_online",
    kind: "gauge",
    what: "Devices that are there, at any Hub of this database."
  },
  tasks: {
    name: "tasks_waiting",
    kind: "gauge",
    what: "Tasks that have no run yet: `pending` ones are on their way, `queued` ones wait for their device.",
    labels: ["state"]
  },
  links: { name: "links_open", kind: "gauge", what: "Devices whose link this Hub holds." },
  events: { name: "events_mirrored_total", kind: "counter", what: "Events that were taken from devices." },
  commands: {
    name: "commands_total",
    kind: "counter",
    what: "Commands to devices, by what came of them: `done`, `refused` by the Edge, `not_sent` in time, `waits` for the device, `unknown` where it was sent and not answered, `failed` here.",
    labels: ["command", "outcome"]
  },
  followers: { name: "event_sockets_open", kind: "gauge", what: "WebSockets that follow events." },
  news: { name: "news_readers", kind: "gauge", what: "Open streams of what changes: browsers and programs." },
  connections: {
    name: "database_connections",
    kind: "gauge",
    what: "Connections of this Hub to its database.",
    labels: ["state"]
  },
  mostConnections: {
    name: "database_connections_limit",
    kind: "gauge",
    what: "Connections that this Hub may have."
  }
} as const satisfies Readonly<Record<string, MetricRow>>
