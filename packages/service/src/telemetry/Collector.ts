/**
 * Sender of spans and metrics to an OTLP/HTTP collector. Nothing waits for it.
 *
 * Guarantees: bounded memory and time for any collector. Per signal, one batch is being sent while the next is collected. A request ends
 * within 5 s and is not retried. If it fails, or the next batch is full before it ends, the batch is dropped and nothing is sent for a minute.
 */
import { type Cause, Clock, Duration, Effect, Redacted, type Scope } from "effect"
import { directOptions } from "@corral/domain/http/DirectConnection"
import { FetchHttpClient, HttpClient, HttpClientError } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import type { Metrics } from "./Metrics.ts"
import type { TelemetryConfig } from "./TelemetrySettings.ts"
import { type Traces, tracesOf } from "./Traces.ts"

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

export interface CollectorOptions {
  /** Name of the service in the collector: `corral-edge`. */
  readonly name: string
  readonly version: string
  readonly metrics: Metrics
}

/** Sends until the scope closes. Returns the traces whose spans are sent. */
export const collector = Effect.fnUntraced(
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
