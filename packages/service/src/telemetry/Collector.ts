/**
 * Sends spans and metrics to an OTLP/HTTP collector, and lets nothing wait for it.
 *
 * Bounded whatever the collector does: of each signal one batch is on its way while the next gathers, a request ends within 5 s and is tried once; where
 * it fails, or a batch is full before the last one has gone, what is there is dropped and nothing is sent for a minute.
 */
import { type Cause, Clock, Duration, Effect, Redacted, type Scope } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import type { Metrics } from "./Metrics.ts"
import type { TelemetryConfig } from "./TelemetrySettings.ts"
import { type Traces, tracesOf } from "./Traces.ts"

const ANSWERS_WITHIN = "5 seconds"
/** The last batch, when the service ends: of each signal. */
const LAST_WITHIN = Duration.seconds(1)
const METRICS_EVERY = "10 seconds"
/** Spans that gather. */
const BATCH = 1_000

/** Dropped, and not tried again: the exporter is silent for a minute then. */
const dropped = (request: HttpClientError.HttpClientError["request"], description: string) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.EncodeError({ request, description }) })

/** What an answer or its absence was, without addresses and keys. */
const wordOf = (error: Cause.TimeoutError | HttpClientError.HttpClientError): string =>
  error._tag === "TimeoutError"
    ? "no answer"
    : error.response === undefined
      ? error.reason._tag
      : `status ${error.response.status}`

/** One request at a time. */
const oneByOne = (client: HttpClient.HttpClient, signal: "metrics" | "traces"): HttpClient.HttpClient => {
  let busy = false
  // An answer is over when its body is.
  const whole = HttpClient.tap(client, (response) => response.arrayBuffer)
  return HttpClient.transform(HttpClient.filterStatusOk(whole), (sending, request) =>
    Effect.suspend(() => {
      if (busy) return Effect.fail(dropped(request, "The collector is slow."))
      busy = true
      return sending.pipe(
        Effect.timeout(ANSWERS_WITHIN),
        Effect.tapError((error) =>
          Effect.logWarning("the collector does not take what it is sent", { signal, reason: wordOf(error) })
        ),
        // What is transient is tried again by the exporter, which would hold on to it.
        Effect.mapError(() => dropped(request, "The collector does not take it.")),
        Effect.ensuring(Effect.sync(() => (busy = false)))
      )
    })
  )
}

export interface CollectorOptions {
  /** `corral-edge`, as the collector shows it. */
  readonly name: string
  readonly version: string
  readonly metrics: Metrics
}

/** Sends until the scope closes; gives the spans. */
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
      shutdownTimeout: LAST_WITHIN
    }
    const tracer = yield* OtlpTracer.make({ ...shared, url: `${url}/v1/traces`, maxBatchSize: BATCH }).pipe(
      Effect.provideService(HttpClient.HttpClient, oneByOne(client, "traces"))
    )
    // Before each of them is sent, so that what takes a query is there.
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(metrics.refresh, Effect.sleep(METRICS_EVERY))), {
      startImmediately: true
    })
    yield* OtlpMetrics.make({ ...shared, url: `${url}/v1/metrics`, exportInterval: METRICS_EVERY }).pipe(
      Effect.provideService(HttpClient.HttpClient, oneByOne(client, "metrics")),
      Effect.provideContext(metrics.context)
    )
    return tracesOf(tracer, yield* Clock.Clock)
  },
  Effect.provide([FetchHttpClient.layer, OtlpExporter.layerFlusher, OtlpSerialization.layerJson]),
  // Keys of a collector are not for where it sends us to.
  Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
)
