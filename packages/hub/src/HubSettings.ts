/** Settings of the Hub as environment variables: one table for reading and for documentation. */
import {
  type Environment,
  valueOr,
  invalidSetting,
  splitList,
  settingReader,
  type Setting,
  type SettingInvalid,
  wholeNumber
} from "@corral/service/Settings"
import { DatabaseUrl, isLoopback, ListenHost, Origin } from "@corral/service/Addresses"
import { proxiesIn, TrustedProxies } from "@corral/service/http/ClientAddress"
import { secretOf } from "@corral/service/SecretSettings"
import { checkVariables } from "@corral/service/UnknownVariables"
import { telemetryFrom, telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { Effect, Redacted, Schema } from "effect"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { hubDefaults, type HubConfig } from "./config/HubConfig.ts"
import { oidcFrom, oidcSettings } from "./signin/OidcSettings.ts"

export const hubSettings = [
  { name: "CORRAL_HOME", what: "Folder of Corral's files.", fallback: "~/.corral" },
  {
    name: "CORRAL_HUB_HOST",
    what: "Address to listen on. Any address except loopback needs `CORRAL_HUB_PUBLIC_URL` with https.",
    fallback: "127.0.0.1"
  },
  { name: "CORRAL_HUB_PORT", what: "Port to listen on; 0 selects a free port.", fallback: "0" },
  {
    name: "CORRAL_HUB_PUBLIC_URL",
    what: "Origin at which browsers and devices reach the Hub, such as `https://corral.example.com`. Needed behind a proxy that terminates TLS.",
    fallback: "the listen address"
  },
  {
    name: "CORRAL_DATABASE_URL",
    what: "External PostgreSQL, `postgres://user:password@host/database`. If unset, the Hub runs an embedded PostgreSQL.",
    fallback: ""
  },
  {
    name: "CORRAL_HUB_DATABASE_CONNECTIONS",
    what: "Maximum number of connections to the database.",
    fallback: String(hubDefaults.maxConnections)
  },
  {
    name: "CORRAL_HUB_REQUESTS_PER_SECOND",
    what: "Requests per second from one sign-in, or from one address (IPv6: one /64 network) for requests without a sign-in. Further requests are refused as `rate_limited`.",
    fallback: String(hubDefaults.requestsPerSecond)
  },
  {
    name: "CORRAL_HUB_SIGN_INS_PER_MINUTE",
    what: "Started and refused sign-ins per minute from one address (IPv6: one /64 network). Behind a proxy, also set `CORRAL_HUB_TRUSTED_PROXIES`.",
    fallback: String(hubDefaults.signInsPerMinute)
  },
  {
    name: "CORRAL_HUB_TRUSTED_PROXIES",
    what: "Proxies in front of the Hub: addresses or networks, separated by commas, such as `127.0.0.1,10.0.0.0/8`. The client is the last address in `X-Forwarded-For` (or in `Forwarded`, if that is missing) that is not in this list. If unset, the headers are ignored and all clients behind a proxy share its address.",
    fallback: ""
  },
  {
    name: "CORRAL_HUB_RETENTION_DAYS",
    what: "Days after which the events of an ended run are deleted; 0 keeps them forever.",
    fallback: String(hubDefaults.retentionDays)
  },
  {
    name: "CORRAL_HUB_DEV_SIGN_IN",
    what: "`1` starts an identity provider that accepts every name. For development: only on loopback, and not with another provider.",
    fallback: ""
  },
  {
    name: "CORRAL_HUB_GATEWAY_TOKEN",
    what: "Bearer token of the Gateway: 32 characters or more. Several tokens, separated by commas or line breaks, allow rotation. If unset, no Gateway can connect.",
    fallback: ""
  },
  {
    name: "CORRAL_HUB_GATEWAY_TOKEN_FILE",
    what: "File that contains the Gateway's token or tokens.",
    fallback: ""
  },
  ...oidcSettings,
  ...telemetrySettings
] as const satisfies ReadonlyArray<Setting>

const GATEWAY_TOKEN = "CORRAL_HUB_GATEWAY_TOKEN"

type Name = (typeof hubSettings)[number]["name"]

/** Characters that a bearer token may contain. */
const isGatewayToken = (text: string): boolean => /^[\x21-\x7e]{32,1024}$/.test(text)

const gatewayTokensFrom = Effect.fnUntraced(function* (env: Environment) {
  const secret = yield* secretOf(env, GATEWAY_TOKEN)
  if (secret === undefined) return []
  const tokens = splitList(Redacted.value(secret).replaceAll(/\s+/g, ","))
  return tokens.length > 0 && tokens.every(isGatewayToken)
    ? tokens.map((token) => Redacted.make(token))
    : yield* invalidSetting(GATEWAY_TOKEN, "32 characters or more, without spaces in them")
})

/** Reads the settings from an environment. */
export const hubConfigFromEnvironment = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<HubConfig, SettingInvalid> {
  yield* checkVariables(env)
  const read = settingReader<Name>(env)
  const host = yield* read("CORRAL_HUB_HOST", ListenHost, hubDefaults.host, "an IP address or localhost")
  const publicUrl = yield* read(
    "CORRAL_HUB_PUBLIC_URL",
    Origin,
    undefined,
    "an origin such as https://corral.example.com, without a path"
  )
  if (!isLoopback(host) && publicUrl?.startsWith("https://") !== true) {
    return yield* invalidSetting(
      "CORRAL_HUB_PUBLIC_URL",
      `an https origin, because CORRAL_HUB_HOST is not loopback`
    )
  }
  const oidc = yield* oidcFrom(env)
  const devSignIn = yield* read("CORRAL_HUB_DEV_SIGN_IN", Schema.Literals(["0", "1"]), "0", "1 or nothing")
  if (devSignIn === "1") {
    const name = publicUrl === undefined ? host : new URL(publicUrl).hostname.replaceAll(/[[\]]/g, "")
    if (!isLoopback(host) || !isLoopback(name))
      return yield* invalidSetting(
        "CORRAL_HUB_DEV_SIGN_IN",
        "nothing, because the Hub is reached from beyond loopback"
      )
    if (oidc !== undefined)
      return yield* invalidSetting("CORRAL_HUB_DEV_SIGN_IN", "nothing, because CORRAL_OIDC_ISSUER is set")
  }
  const databaseUrl = yield* read(
    "CORRAL_DATABASE_URL",
    DatabaseUrl,
    undefined,
    "postgres://user:password@host/database"
  )
  return {
    home: resolve(valueOr(env["CORRAL_HOME"], join(homedir(), ".corral"))),
    host,
    port: yield* read("CORRAL_HUB_PORT", wholeNumber(0, 65_535), hubDefaults.port, "a port from 0 to 65535"),
    publicUrl,
    databaseUrl: databaseUrl === undefined ? undefined : Redacted.make(databaseUrl),
    maxConnections: yield* read(
      "CORRAL_HUB_DATABASE_CONNECTIONS",
      wholeNumber(2, 1_000),
      hubDefaults.maxConnections,
      "2 to 1000"
    ),
    requestsPerSecond: yield* read(
      "CORRAL_HUB_REQUESTS_PER_SECOND",
      wholeNumber(1, 1_000_000),
      hubDefaults.requestsPerSecond,
      "1 to 1000000"
    ),
    signInsPerMinute: yield* read(
      "CORRAL_HUB_SIGN_INS_PER_MINUTE",
      wholeNumber(1, 1_000_000),
      hubDefaults.signInsPerMinute,
      "1 to 1000000"
    ),
    trustedProxies: proxiesIn(
      yield* read(
        "CORRAL_HUB_TRUSTED_PROXIES",
        TrustedProxies,
        "",
        "addresses or networks, such as 127.0.0.1 or 10.0.0.0/8, between commas"
      )
    ),
    retentionDays: yield* read(
      "CORRAL_HUB_RETENTION_DAYS",
      wholeNumber(0, 36_500),
      hubDefaults.retentionDays,
      "0 to 36500"
    ),
    gatewayTokens: yield* gatewayTokensFrom(env),
    telemetry: yield* telemetryFrom(env),
    oidc,
    devSignIn: devSignIn === "1"
  }
})
