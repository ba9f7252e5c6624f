/**
 * Telemetry of a service, as a layer below the rest of it: metrics, spans, and the metrics page. Nothing is sent or served unless the settings say
 * where. Also the sender to a collector, for which nothing waits.
 */
import { type Cause, Clock, Context, Duration, Effect, Layer, Redacted, type Scope } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { VERSION } from "../Version.ts"
import { CurrentMetrics, Metrics, serviceMetrics } from "./Metrics.ts"
import type { TelemetryConfig } from "./TelemetrySettings.ts"
import { CurrentTraces, type Traces, tracesOf } from "./Traces.ts"
import { directOptions } from "@corral/domain/http/DirectConnection"
import { FetchHttpClient, HttpClient, HttpClientError } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"

// Sender of spans and metrics to an OTLP/HTTP collector. Nothing waits for it.
//
// Guarantees: bounded memory and time for any collector. Per signal, one batch is being sent while the next is collected. A request ends
// within 5 s and is not retried. If it fails, or the next batch is full before it ends, the batch is dropped and nothing is sent for a minute.

const REQUEST_TIMEOUT = "5 seconds"
/** For the last batch of each signal when the service stops. */
const SHUTDOWN_TIMEOUT = Duration.seconds(1)
const METRICS_INTERVAL = "10 seconds"
/** Maximum number of spans in a batch. */
const BATCH = 1_000

/** Error that makes the exporter drop the batch without a retry and send nothing for a minute. */
const dropBatch = (request: HttpClientError.HttpClientError["request"], description: string) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.EncodeError({ request, description }) })

/** Reason of a failed request, without addresses and keys. */
const reasonOf = (error: Cause.TimeoutError | HttpClientError.HttpClientError): string =>
  error._tag === "TimeoutError"
    ? "no answer"
    : error.response === undefined
      ? error.reason._tag
      : `status ${error.response.status}`

/** Client that sends one request at a time. */
const oneAtATime = (client: HttpClient.HttpClient, signal: "metrics" | "traces"): HttpClient.HttpClient => {
  let isBusy = false
  // A response ends with its body.
  const withBody = HttpClient.tap(client, (response) => response.arrayBuffer)
  return HttpClient.transform(HttpClient.filterStatusOk(withBody), (sending, request) =>
    Effect.suspend(() => {
      if (isBusy) return Effect.fail(dropBatch(request, "The collector is slow."))
      isBusy = true
      return sending.pipe(
        Effect.timeout(REQUEST_TIMEOUT),
        Effect.tapError((error) =>
          Effect.logWarning("failed to send telemetry", { signal, reason: reasonOf(error) })
        ),
        // The exporter would keep the batch to retry a transient failure.
        Effect.mapError(() => dropBatch(request, "The collector does not take it.")),
        Effect.ensuring(Effect.sync(() => (isBusy = false)))
      )
    })
  )
}

interface CollectorOptions {
  /** Name of the service in the collector: `corral-edge`. */
  readonly name: string
  readonly version: string
  readonly metrics: Metrics
}

/** Sends until the scope closes. Returns the traces whose spans are sent. */
const collector = Effect.fnUntraced(
  function* (
    url: string,
    { headers = {} }: TelemetryConfig,
    { metrics, name, version }: CollectorOptions
  ): Effect.fn.Return<
    Traces,
    never,
    HttpClient.HttpClient | OtlpExporter.Flusher | OtlpSerialization.OtlpSerialization | Scope.Scope
  > {
    const client = yield* HttpClient.HttpClient
    const shared = {
      resource: { serviceName: name, serviceVersion: version },
      headers: Object.fromEntries(
        Object.entries(headers).map(([header, value]) => [header, Redacted.value(value)])
      ),
      shutdownTimeout: SHUTDOWN_TIMEOUT
    }
    const tracer = yield* OtlpTracer.make({ ...shared, url: `${url}/v1/traces`, maxBatchSize: BATCH }).pipe(
      Effect.provideService(HttpClient.HttpClient, oneAtATime(client, "traces"))
    )
    // The first sample comes before the first request, so that it has the gauges that need a query.
    yield* Effect.forkScoped(
      Effect.forever(Effect.andThen(metrics.refresh, Effect.sleep(METRICS_INTERVAL))),
      {
        startImmediately: true
      }
    )
    yield* OtlpMetrics.make({ ...shared, url: `${url}/v1/metrics`, exportInterval: METRICS_INTERVAL }).pipe(
      Effect.provideService(HttpClient.HttpClient, oneAtATime(client, "metrics")),
      Effect.provideContext(metrics.context)
    )
    return tracesOf(tracer, yield* Clock.Clock)
  },
  Effect.provide([FetchHttpClient.layer, OtlpExporter.layerFlusher, OtlpSerialization.layerJson]),
  // Never send the collector's keys to the target of a redirect.
  (sending, url) =>
    Effect.suspend(() =>
      Effect.provideService(sending, FetchHttpClient.RequestInit, {
        redirect: "manual",
        ...directOptions(url)
      })
    )
)

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
