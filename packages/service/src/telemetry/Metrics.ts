/**
 * Metrics of one service in their own registry. Gauges that need a query are sampled when the metrics are read, at most once a second, and are left
 * out if the query fails. Also the tables that define them.
 *
 * Does not: serve or send anything. `MetricsPage` and `Collector` read the registry.
 */
import { Context, Effect, Metric } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"

// Tables of metrics, for the code and for `docs/metrics.md`. Labels have few values: never a user, a run, a path or a project.

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

export interface Counter {
  readonly add: (count?: number) => void
}

export interface Histogram {
  /** In seconds. */
  readonly record: (seconds: number) => void
}

/** Current value of a row. */
export type Reading = readonly [row: MetricRow, value: number, labels?: Labels]

/** Upper bounds of the buckets in seconds: from a commit to a request that waits. */
const BOUNDARIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]
/** A slower query counts as failed. */
const SAMPLE_TIMEOUT = "2 seconds"

export class Metrics {
  /** The registry, for Effect's exporters. */
  readonly context: Context.Context<never>
  /** Samples the gauges that need a query. */
  readonly refresh: Effect.Effect<void>
  private readonly service: string
  private readonly counters = new Map<string, Counter>()
  private readonly histograms = new Map<string, Histogram>()
  private readonly samplers: Array<Effect.Effect<void>> = []

  /** `service` is the part after `corral_` in each name. */
  constructor(service: string) {
    this.service = service
    this.context = Context.make(Metric.MetricRegistry, new Map())
    const all = Effect.suspend(() =>
      Effect.forEach(this.samplers, (sampler) => sampler, { concurrency: "unbounded", discard: true })
    )
    this.refresh = Effect.flatten(Effect.runSync(Effect.cachedWithTTL(Effect.exit(all), "1 second")))
  }

  /** Counter from 0. The same row and labels return the same counter. */
  counter(row: MetricRow & { readonly kind: "counter" }, labels: Labels = {}): Counter {
    const key = keyOf(row, labels)
    const existing = this.counters.get(key)
    if (existing !== undefined) return existing
    const [name, options] = this.named(row, labels)
    const metric = Metric.counter(name, { ...options, incremental: true })
    registerEmpty(metric, this.context)
    const counter: Counter = { add: (count = 1) => metric.updateUnsafe(count, this.context) }
    this.counters.set(key, counter)
    return counter
  }

  /** Histogram of durations. The same row and labels return the same histogram. */
  histogram(row: MetricRow & { readonly kind: "histogram" }, labels: Labels = {}): Histogram {
    const key = keyOf(row, labels)
    const existing = this.histograms.get(key)
    if (existing !== undefined) return existing
    const [name, options] = this.named(row, labels)
    const metric = Metric.histogram(name, { ...options, boundaries: BOUNDARIES })
    registerEmpty(metric, this.context)
    const histogram: Histogram = { record: (seconds) => metric.updateUnsafe(seconds, this.context) }
    this.histograms.set(key, histogram)
    return histogram
  }

  /** Samples gauges whenever the metrics are read. Each reading replaces the one before. */
  sample<E>(readings: Effect.Effect<ReadonlyArray<Reading>, E>): void {
    let registrations: ReadonlyArray<Metric.Registration> = []
    const replace = (sampled: ReadonlyArray<Reading>) => {
      for (const registration of registrations) registration.remove()
      registrations = sampled.map(([row, value, labels = {}]) =>
        Metric.registerUnsafe(Metric.gauge(...this.named(row, labels)), this.context, {
          get: () => ({ value }),
          update: () => undefined,
          modify: () => undefined
        })
      )
    }
    this.samplers.push(
      readings.pipe(
        Effect.timeout(SAMPLE_TIMEOUT),
        Effect.catchCause((cause) =>
          Effect.as(Effect.logDebug("failed to sample metrics", cause), [] as ReadonlyArray<Reading>)
        ),
        Effect.map(replace)
      )
    )
  }

  /** All metrics in the text format of Prometheus. */
  get text(): Effect.Effect<string> {
    return Effect.map(this.refresh, () => PrometheusMetrics.formatUnsafe(this.context))
  }

  private named({ name, what }: MetricRow, labels: Labels) {
    return [`corral_${this.service}_${name}`, { description: what, attributes: labels }] as const
  }
}

/** Shows a metric before its first update. */
const registerEmpty = (metric: Metric.Metric<number, unknown>, context: Context.Context<never>): void => {
  metric.valueUnsafe(context)
}

const keyOf = ({ name }: MetricRow, labels: Labels): string =>
  [name, ...Object.entries(labels).flat()].join("\n")

/** Metrics of the service. Outside of a service they are counted and never read. */
export const CurrentMetrics = Context.Reference<Metrics>("corral/service/Metrics", {
  defaultValue: () => new Metrics("unread")
})
