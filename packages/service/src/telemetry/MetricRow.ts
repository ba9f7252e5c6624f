/** What is counted, as tables that are both used and documented. Labels have few values: never a person, a run, a path or a project. */

export type Labels = Readonly<Record<string, string>>

export interface MetricRow {
  /** After `corral_<service>_`, with its unit at the end, as Prometheus has it. */
  readonly name: string
  readonly kind: "counter" | "gauge" | "histogram"
  readonly what: string
  readonly labels?: ReadonlyArray<string>
}

/** Counted in each service alike. */
export const serviceMetrics = {
  requests: {
    name: "http_request_duration_seconds",
    kind: "histogram",
    what: "Requests, by the route that they went to, until the answer was written. `gone`: the client disconnected first. WebSockets are not among them.",
    labels: ["method", "route", "status"]
  },
  heap: { name: "process_heap_bytes", kind: "gauge", what: "JavaScript's heap in use." },
  resident: { name: "process_resident_memory_bytes", kind: "gauge", what: "Memory of the process." },
  loopDelay: {
    name: "event_loop_delay_p99_seconds",
    kind: "gauge",
    what: "How late the event loop was, at the 99th percentile since this was last asked."
  },
  uptime: { name: "process_uptime_seconds", kind: "gauge", what: "Time since the process started." }
} as const satisfies Readonly<Record<string, MetricRow>>
