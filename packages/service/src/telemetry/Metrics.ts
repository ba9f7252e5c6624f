/**
 * Metrics of a service in their own registry. Counting is a synchronous addition. Metrics that need a query are sampled when they are
 * read, at most once a second, and are left out if the query fails.
 *
 * It serves nothing and sends nothing: `MetricsPage` and `Collector` read it.
 */
import { Context, Effect, Metric } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import type { Labels, MetricRow } from "./MetricRow.ts"

export interface Counter {
  readonly add: (count?: number) => void
}

export interface Histogram {
  /** In seconds. */
  readonly record: (seconds: number) => void
}

/** What one row is now. */
export type Reading = readonly [row: MetricRow, value: number, labels?: Labels]

/** Seconds: from a commit to a request that waits. */
const BOUNDARIES = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]
/** A store that is slower is not there. */
const PATIENCE = "2 seconds"

export class Metrics {
  /** For what reads them with Effect's own exporters. */
  readonly context: Context.Context<never>
  /** Asks for what is only known by asking. */
  readonly refresh: Effect.Effect<void>
  private readonly service: string
  private readonly counters = new Map<string, Counter>()
  private readonly histograms = new Map<string, Histogram>()
  private readonly samplers: Array<Effect.Effect<void>> = []

  /** `service` is the word after `corral_` in each name. */
  constructor(service: string) {
    this.service = service
    this.context = Context.make(Metric.MetricRegistry, new Map())
    const all = Effect.suspend(() =>
      Effect.forEach(this.samplers, (sampler) => sampler, { concurrency: "unbounded", discard: true })
    )
    this.refresh = Effect.flatten(Effect.runSync(Effect.cachedWithTTL(Effect.exit(all), "1 second")))
  }

  /** From 0 on. The same one for the same labels. */
  counter(row: MetricRow & { readonly kind: "counter" }, labels: Labels = {}): Counter {
    const key = keyOf(row, labels)
    const known = this.counters.get(key)
    if (known !== undefined) return known
    let count = 0
    Metric.registerUnsafe(Metric.counter(...this.named(row, labels)), this.context, {
      get: () => ({ count, incremental: true }),
      update: () => undefined,
      modify: () => undefined
    })
    const counter: Counter = {
      add: (more = 1) => {
        count += more
      }
    }
    this.counters.set(key, counter)
    return counter
  }

  histogram(row: MetricRow & { readonly kind: "histogram" }, labels: Labels = {}): Histogram {
    const key = keyOf(row, labels)
    const known = this.histograms.get(key)
    if (known !== undefined) return known
    const [name, options] = this.named(row, labels)
    const metric = Metric.histogram(name, { ...options, boundaries: BOUNDARIES })
    // From now on it is there, with nothing in it.
    metric.valueUnsafe(this.context)
    const histogram: Histogram = { record: (seconds) => metric.updateUnsafe(seconds, this.context) }
    this.histograms.set(key, histogram)
    return histogram
  }

  /** Samples gauges when the metrics are read. */
  sample<E>(readings: Effect.Effect<ReadonlyArray<Reading>, E>): void {
    let shown: ReadonlyArray<Metric.Registration> = []
    const show = (found: ReadonlyArray<Reading>) => {
      for (const each of shown) each.remove()
      shown = found.map(([row, value, labels = {}]) =>
        Metric.registerUnsafe(Metric.gauge(...this.named(row, labels)), this.context, {
          get: () => ({ value }),
          update: () => undefined,
          modify: () => undefined
        })
      )
    }
    this.samplers.push(
      readings.pipe(
        Effect.timeout(PATIENCE),
        Effect.catchCause((cause) =>
          Effect.as(Effect.logDebug("metrics could not be read", cause), [] as ReadonlyArray<Reading>)
        ),
        Effect.map(show)
      )
    )
  }

  /** All of it as Prometheus reads it. */
  get text(): Effect.Effect<string> {
    return Effect.map(this.refresh, () => PrometheusMetrics.formatUnsafe(this.context))
  }

  private named({ name, what }: MetricRow, labels: Labels) {
    return [`corral_${this.service}_${name}`, { description: what, attributes: labels }] as const
  }
}

const keyOf = ({ name }: MetricRow, labels: Labels): string =>
  [name, ...Object.entries(labels).flat()].join("\n")

/** Metrics of the service. In a program without a service around it, the counts are not read. */
export const CurrentMetrics = Context.Reference<Metrics>("corral/service/Metrics", {
  defaultValue: () => new Metrics("unread")
})
