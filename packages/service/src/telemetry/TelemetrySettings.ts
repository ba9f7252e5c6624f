/** Settings of a service's traces and metrics, the same for all services. By default, nothing is sent and no metrics are served. */
import { withoutTrailing } from "@corral/domain/text/Cut"
import { Config, Effect, Redacted } from "effect"
import { isLoopback } from "../Addresses.ts"
import {
  invalidSetting,
  optionalSetting,
  secretSetting,
  parsedBy,
  splitList,
  BearerToken
} from "../settings/Setting.ts"

export interface TelemetryConfig {
  /** OTLP/HTTP collector, without a slash at its end: `/v1/traces` and `/v1/metrics` are below it. Absent: no export. */
  readonly collector?: string | undefined
  /** Headers of every request to the collector. */
  readonly headers?: Readonly<Record<string, Redacted.Redacted>> | undefined
  /** Bearer token for `GET /metrics`. Absent: no such route. */
  readonly metricsToken?: Redacted.Redacted | undefined
}

const Collector = parsedBy(
  "an http or https address such as http://127.0.0.1:4318, with no sign-in or query in it",
  (text) => {
    const url = URL.parse(text)
    const plain = url !== null && `${url.origin}${url.pathname}` === url.href
    return plain && /^https?:$/.test(url.protocol) && !/[?#]/.test(text)
      ? withoutTrailing(text, "/")
      : undefined
  }
)

const headerShape = /^([!#$%&'*+.^_`|~A-Za-z0-9-]+)=([\x20-\x7e]*)$/

/** One header in the format of OpenTelemetry's variable. */
const headerOf = (text: string): readonly [string, Redacted.Redacted] | undefined => {
  const [, name, value] = headerShape.exec(text) ?? []
  if (name === undefined || value === undefined) return undefined
  try {
    const decoded = decodeURIComponent(value.trim())
    return /^[\x20-\x7e]+$/.test(decoded) ? [name.toLowerCase(), Redacted.make(decoded)] : undefined
  } catch {
    return undefined
  }
}

/** All headers of the text; `undefined` without any, or if one of them is not a header. */
const headersOf = (text: string): Readonly<Record<string, Redacted.Redacted>> | undefined => {
  const parts = splitList(text, /[,\r\n]+/).map(headerOf)
  const headers = parts.filter((header) => header !== undefined)
  return headers.length > 0 && headers.length === parts.length ? Object.fromEntries(headers) : undefined
}

const Headers = parsedBy("name=value, or several with commas between them", headersOf)

export const telemetrySettings = {
  collector: optionalSetting({
    name: "CORRAL_OTLP_URL",
    doc: "Address of an OTLP/HTTP collector, such as `http://127.0.0.1:4318`: traces go to `/v1/traces` below it, metrics to `/v1/metrics`. If unset, nothing is sent.",
    schema: Collector
  }),
  headers: secretSetting(
    "CORRAL_OTLP_HEADERS",
    "Headers for the collector: `name=value`, separated by commas or line breaks, with values encoded as in a URL. Needs `CORRAL_OTLP_URL`, with https beyond loopback.",
    Headers
  ),
  metricsToken: secretSetting(
    "CORRAL_METRICS_TOKEN",
    "Bearer token for `GET /metrics`: 32 characters or more. If unset, the route does not exist.",
    BearerToken
  )
}

const sendsHeadersInPlain = ({ collector, headers }: TelemetryConfig): boolean => {
  const url = collector === undefined || headers === undefined ? undefined : new URL(collector)
  return url?.protocol === "http:" && !isLoopback(url.hostname)
}

export const telemetryConfig: Config.Config<TelemetryConfig> = Config.all(telemetrySettings).pipe(
  Config.mapEffect((telemetry: TelemetryConfig) => {
    if (telemetry.headers !== undefined && telemetry.collector === undefined)
      return invalidSetting("CORRAL_OTLP_HEADERS", "nothing, because CORRAL_OTLP_URL is not set")
    return sendsHeadersInPlain(telemetry)
      ? invalidSetting(
          "CORRAL_OTLP_URL",
          "an https address, or one on loopback, because CORRAL_OTLP_HEADERS is set"
        )
      : Effect.succeed(telemetry)
  })
)
