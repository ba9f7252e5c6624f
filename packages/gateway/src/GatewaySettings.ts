/**
 * The Gateway's settings as environment variables: one table that is both read and documented.
 */
import {
  type Environment,
  invalidSetting,
  settingReader,
  type Setting,
  type SettingInvalid,
  wholeNumber
} from "@corral/service/Settings"
import { DatabaseUrl, isLoopback, ListenHost, Origin } from "@corral/service/Addresses"
import { proxiesIn, TrustedProxies } from "@corral/service/http/ClientAddress"
import { secretOf, secretSettings } from "@corral/service/SecretSettings"
import { checkVariables } from "@corral/service/UnknownVariables"
import { telemetryFrom, telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { Effect, Redacted } from "effect"
import { chatPlatforms, missingForPublicHost, platformConfigsFrom } from "./ChatPlatforms.ts"
import type { HubAddress } from "./hub/Hub.ts"
import { gatewayDefaults, type GatewayConfig } from "./GatewayConfig.ts"

const ownSettings = [
  {
    name: "CORRAL_GATEWAY_HOST",
    what: "Address to listen on. Anything but loopback needs `CORRAL_FEISHU_ENCRYPT_KEY` where there is a bot on Feishu.",
    fallback: gatewayDefaults.host
  },
  { name: "CORRAL_GATEWAY_PORT", what: "Port to listen on; 0 takes any free one.", fallback: "0" },
  {
    name: "CORRAL_DATABASE_URL",
    what: "The PostgreSQL that events are kept in, `postgres://user:password@host/database`: the Hub's or another. Needed. All of it is in the schema `corral_gateway`.",
    fallback: ""
  },
  {
    name: "CORRAL_GATEWAY_DATABASE_CONNECTIONS",
    what: "Connections to the database at once.",
    fallback: String(gatewayDefaults.maxConnections)
  },
  {
    name: "CORRAL_GATEWAY_REQUESTS_PER_SECOND",
    what: "Requests that one address (IPv6: one /64 network) may send in a second; one more is refused as `rate_limited`. Behind a proxy this needs `CORRAL_GATEWAY_TRUSTED_PROXIES`.",
    fallback: String(gatewayDefaults.requestsPerSecond)
  },
  {
    name: "CORRAL_GATEWAY_TRUSTED_PROXIES",
    what: "Proxies in front of the Gateway, as `CORRAL_HUB_TRUSTED_PROXIES` at the Hub.",
    fallback: ""
  },
  {
    name: "CORRAL_HUB_URL",
    what: "Origin of the Hub that does what is asked for in chats, as people reach it too. Unset, what comes in is kept and waits.",
    fallback: ""
  },
  ...secretSettings(
    "CORRAL_GATEWAY_HUB_TOKEN",
    "What the Gateway says to the Hub to be believed: the Hub's `CORRAL_HUB_GATEWAY_TOKEN`. Needed with `CORRAL_HUB_URL`."
  )
] as const satisfies ReadonlyArray<Setting>

export const gatewaySettings: ReadonlyArray<Setting> = [
  ...ownSettings,
  ...chatPlatforms.flatMap(({ settings }) => settings),
  ...telemetrySettings
]

type Name = (typeof ownSettings)[number]["name"]

const hubFrom = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<HubAddress | undefined, SettingInvalid> {
  const read = settingReader<Name>(env)
  const url = yield* read("CORRAL_HUB_URL", Origin, undefined, "an origin such as https://corral.example.com")
  const token = yield* secretOf(env, "CORRAL_GATEWAY_HUB_TOKEN")
  if (url === undefined && token === undefined) return undefined
  if (url === undefined)
    return yield* invalidSetting(
      "CORRAL_HUB_URL",
      "the Hub's origin, because CORRAL_GATEWAY_HUB_TOKEN is set"
    )
  if (token === undefined)
    return yield* invalidSetting("CORRAL_GATEWAY_HUB_TOKEN", "the Hub's token, because CORRAL_HUB_URL is set")
  // It is sent with every call.
  if (url.startsWith("http:") && !isLoopback(new URL(url).hostname))
    return yield* invalidSetting("CORRAL_HUB_URL", "an https origin, or an http one on loopback")
  return { url, token }
})

/** Reads the settings from an environment. */
export const gatewayConfigFrom = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<GatewayConfig, SettingInvalid> {
  yield* checkVariables(env)
  const read = settingReader<Name>(env)
  const host = yield* read(
    "CORRAL_GATEWAY_HOST",
    ListenHost,
    gatewayDefaults.host,
    "an IP address or localhost"
  )
  const platforms = yield* platformConfigsFrom(env)
  const missing = isLoopback(host) ? undefined : missingForPublicHost(platforms)
  if (missing !== undefined)
    return yield* invalidSetting(missing, "a key, because CORRAL_GATEWAY_HOST is not loopback")
  const databaseUrl = yield* read(
    "CORRAL_DATABASE_URL",
    DatabaseUrl,
    undefined,
    "postgres://user:password@host/database"
  )
  if (databaseUrl === undefined)
    return yield* invalidSetting("CORRAL_DATABASE_URL", "postgres://user:password@host/database")
  return {
    host,
    port: yield* read(
      "CORRAL_GATEWAY_PORT",
      wholeNumber(0, 65_535),
      gatewayDefaults.port,
      "a port from 0 to 65535"
    ),
    databaseUrl: Redacted.make(databaseUrl),
    maxConnections: yield* read(
      "CORRAL_GATEWAY_DATABASE_CONNECTIONS",
      wholeNumber(4, 1_000),
      gatewayDefaults.maxConnections,
      "4 to 1000"
    ),
    requestsPerSecond: yield* read(
      "CORRAL_GATEWAY_REQUESTS_PER_SECOND",
      wholeNumber(1, 1_000_000),
      gatewayDefaults.requestsPerSecond,
      "1 to 1000000"
    ),
    trustedProxies: proxiesIn(
      yield* read(
        "CORRAL_GATEWAY_TRUSTED_PROXIES",
        TrustedProxies,
        "",
        "addresses or networks, such as 127.0.0.1 or 10.0.0.0/8, between commas"
      )
    ),
    hub: yield* hubFrom(env),
    ...platforms,
    telemetry: yield* telemetryFrom(env)
  }
})
