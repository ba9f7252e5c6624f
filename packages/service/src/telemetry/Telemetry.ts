/**
 * Telemetry of a service, as a layer below the rest of it: metrics, spans, and the metrics page. Nothing is sent or served unless the
 * settings say where.
 */
import { Context, Effect, Layer, type Redacted } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { VERSION } from "../Version.ts"
import { collector } from "./Collector.ts"
import { serviceMetrics } from "./MetricRow.ts"
import { CurrentMetrics, Metrics } from "./Metrics.ts"
import type { TelemetryConfig } from "./TelemetrySettings.ts"
import { CurrentTraces } from "./Traces.ts"

/** Bearer token of `GET /metrics`. */
export const MetricsToken = Context.Reference<Redacted.Redacted | undefined>("corral/service/MetricsToken", {
  defaultValue: () => undefined
})

/** Samples the process. It includes other services in the same process. */
const sampleProcess = (metrics: Metrics) =>
  Effect.gen(function* () {
    const delay = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const histogram = monitorEventLoopDelay({ resolution: 20 })
        histogram.enable()
        return histogram
      }),
      (histogram) => Effect.sync(() => histogram.disable())
    )
    metrics.sample(
      Effect.sync(() => {
        const { heapUsed, rss } = process.memoryUsage()
        const delaySeconds = delay.percentile(99) / 1e9
        delay.reset()
        return [
          [serviceMetrics.heap, heapUsed],
          [serviceMetrics.resident, rss],
          [serviceMetrics.loopDelay, delaySeconds],
          [serviceMetrics.uptime, process.uptime()]
        ]
      })
    )
  })

/** Provides `CurrentMetrics`, `CurrentTraces` and `MetricsToken`. It is released last, so that the last spans are sent. */
export const telemetryLayer = (service: "edge" | "gateway" | "hub", config: TelemetryConfig = {}) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const metrics = new Metrics(service)
      const context = Context.make(CurrentMetrics, metrics).pipe(
        Context.add(MetricsToken, config.metricsToken)
      )
      if (config.collector === undefined && config.metricsToken === undefined) return context
      yield* sampleProcess(metrics)
      if (config.collector === undefined) return context
      const options = { name: `corral-${service}`, version: VERSION, metrics }
      return Context.add(context, CurrentTraces, yield* collector(config.collector, config, options))
    })
  )
