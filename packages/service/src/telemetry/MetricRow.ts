/** Tables of metrics, for the code and for `docs/metrics.md`. Labels have few values: never a user, a run, a path or a project. */

export type Labels = Readonly<Record<string, string>>

export interface MetricRow {
  /** The part after `corral_<service>_`, with its unit at the end, as Prometheus recommends. */
  readonly name: string
  readonly kind: "counter" | "gauge" | "histogram"
  readonly what: string
  readonly labels?: ReadonlyArray<string>
}

/** Metrics of every service. */
export const serviceMetrics = {
  requests: {
    name: "http_request_duration_seconds",
    kind: "histogram",
    what: "Time from a request until its response was written, by route. `gone`: the client disconnected first. WebSockets are not included.",
    labels: ["method", "route", "status"]
  },
  heap: { name: "process_heap_bytes", kind: "gauge", what: "JavaScript heap in use." },
  resident: { name: "process_resident_memory_bytes", kind: "gauge", what: "Resident memory of the process." },
  loopDelay: {
    name: "event_loop_delay_p99_seconds",
    kind: "gauge",
    what: "99th percentile of the event loop delay since the last reading."
  },
  uptime: { name: "process_uptime_seconds", kind: "gauge", what: "Time since the process started." }
} as const satisfies Readonly<Record<string, MetricRow>>
