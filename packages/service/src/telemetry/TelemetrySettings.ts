/** Where a service's traces and metrics go: settings that all services have alike. Nothing is sent or served unless they are set. */
import { withoutTrailing } from "@corral/domain/text/Trailing"
import { Effect, Redacted, Schema } from "effect"
import { isLoopback } from "../Addresses.ts"
import { secretOf, secretSettings } from "../SecretSettings.ts"
import {
  type Environment,
  invalidSetting,
  settingReader,
  type Setting,
  type SettingInvalid
} from "../Settings.ts"

export interface TelemetryConfig {
  /** Of an OTLP/HTTP collector, without a slash at its end: `/v1/traces` and `/v1/metrics` are below it. Absent: nothing is sent. */
  readonly collector?: string | undefined
  /** Sent to the collector with everything. */
  readonly headers?: Readonly<Record<string, Redacted.Redacted>> | undefined
  /** What a reader of `GET /metrics` sends as its bearer token. Absent: there is no such route. */
  readonly metricsToken?: Redacted.Redacted | undefined
}

export const telemetrySettings = [
  {
    name: "CORRAL_OTLP_URL",
    what: "Address of an OTLP/HTTP collector, such as `http://127.0.0.1:4318`: traces go to `/v1/traces` below it, metrics to `/v1/metrics`. Unset, nothing is sent.",
    fallback: ""
  },
  ...secretSettings(
    "CORRAL_OTLP_HEADERS",
    "Headers for the collector, `name=value` with commas or line ends between them, values as in a URL. Needs `CORRAL_OTLP_URL`, with https beyond loopback."
  ),
  ...secretSettings(
    "CORRAL_METRICS_TOKEN",
    "What a reader of `GET /metrics` sends as its bearer token: 32 characters or more. Unset, there is no such route."
  )
] as const satisfies ReadonlyArray<Setting>

const Collector = Schema.String.check(
  Schema.makeFilter((text) => {
    const url = URL.parse(text)
    const plain = url !== null && `${url.origin}${url.pathname}` === url.href
    return (plain && /^https?:$/.test(url.protocol) && !/[?#]/.test(text)) || "Expected an address"
  })
)

const HEADERS = "CORRAL_OTLP_HEADERS"
const headerShape = /^([!#$%&'*+.^_`|~A-Za-z0-9-]+)=([\x20-\x7e]*)$/

/** One header, as OpenTelemetry's own variable has them. */
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

const headersFrom = Effect.fnUntraced(function* (env: Environment, collector: string | undefined) {
  const secret = yield* secretOf(env, HEADERS)
  if (secret === undefined) return undefined
  if (collector === undefined)
    return yield* invalidSetting(HEADERS, "nothing, because CORRAL_OTLP_URL is not set")
  const url = new URL(collector)
  if (url.protocol === "http:" && !isLoopback(url.hostname))
    return yield* invalidSetting(
      "CORRAL_OTLP_URL",
      "an https address, or one on loopback, because CORRAL_OTLP_HEADERS is set"
    )
  const found = Redacted.value(secret)
    .split(/[,\r\n]+/)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(headerOf)
  const headers = found.flatMap((header) => (header === undefined ? [] : [header]))
  return headers.length > 0 && headers.length === found.length
    ? Object.fromEntries(headers)
    : yield* invalidSetting(HEADERS, "name=value, or several with commas between them")
})

const metricsTokenFrom = Effect.fnUntraced(function* (env: Environment) {
  const token = yield* secretOf(env, "CORRAL_METRICS_TOKEN")
  return token === undefined || /^[\x21-\x7e]{32,1024}$/.test(Redacted.value(token))
    ? token
    : yield* invalidSetting("CORRAL_METRICS_TOKEN", "32 characters or more, without spaces in them")
})

/** Reads them from an environment. */
export const telemetryFrom = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<TelemetryConfig, SettingInvalid> {
  const read = settingReader<(typeof telemetrySettings)[number]["name"]>(env)
  const given = yield* read(
    "CORRAL_OTLP_URL",
    Collector,
    undefined,
    "an http or https address such as http://127.0.0.1:4318, with no sign-in or query in it"
  )
  const collector = given === undefined ? undefined : withoutTrailing(given, "/")
  return {
    collector,
    headers: yield* headersFrom(env, collector),
    metricsToken: yield* metricsTokenFrom(env)
  }
})
