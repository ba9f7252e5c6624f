/** Settings of the Hub: one table that documents and reads its environment variables. */
import { isLoopback } from "@corral/service/Addresses"
import { TrustedProxies } from "@corral/service/http/ClientAddress"
import { readSettings } from "@corral/service/settings/ReadSettings"
import {
  type Environment,
  homeSetting,
  invalidSetting,
  optionalSetting,
  secretSetting,
  setting,
  type SettingInvalid,
  ContactAddress,
  DatabaseUrl,
  list,
  ListenHost,
  oneOf,
  Origin,
  Port,
  BearerToken,
  wholeNumber
} from "@corral/service/settings/Setting"
import { telemetryConfig, telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { Config, Effect, Schema } from "effect"
import { hubDefaults, type HubConfig } from "./config/HubConfig.ts"
import { oidcConfig, oidcSettings } from "./signin/OidcSettings.ts"

const TOKENS = "32 characters or more, without spaces in them"

export const hubSettings = {
  home: homeSetting,
  host: setting({
    name: "CORRAL_HUB_HOST",
    doc: "Address to listen on. Any address except loopback needs `CORRAL_HUB_PUBLIC_URL` with https.",
    schema: ListenHost,
    default: hubDefaults.host
  }),
  port: setting({
    name: "CORRAL_HUB_PORT",
    doc: "Port to listen on; 0 selects a free port.",
    schema: Port,
    default: hubDefaults.port
  }),
  publicUrl: optionalSetting({
    name: "CORRAL_HUB_PUBLIC_URL",
    doc: "Origin at which browsers and devices reach the Hub, such as `https://corral.example.com`. Needed behind a proxy that terminates TLS.",
    schema: Origin.annotate({ expected: "an origin such as https://corral.example.com, without a path" }),
    shownDefault: "the listen address"
  }),
  databaseUrl: optionalSetting({
    name: "CORRAL_DATABASE_URL",
    doc: "External PostgreSQL, `postgres://user:password@host/database`. If unset, the Hub runs an embedded PostgreSQL.",
    schema: DatabaseUrl
  }),
  maxConnections: setting({
    name: "CORRAL_HUB_DATABASE_CONNECTIONS",
    doc: "Maximum number of connections to the database.",
    schema: wholeNumber(2, 1_000),
    default: hubDefaults.maxConnections
  }),
  requestsPerSecond: setting({
    name: "CORRAL_HUB_REQUESTS_PER_SECOND",
    doc: "Requests per second from one sign-in, or from one address (IPv6: one /64 network) for requests without a sign-in. Further requests are refused as `rate_limited`.",
    schema: wholeNumber(1, 1_000_000),
    default: hubDefaults.requestsPerSecond
  }),
  signInsPerMinute: setting({
    name: "CORRAL_HUB_SIGN_INS_PER_MINUTE",
    doc: "Started and refused sign-ins per minute from one address (IPv6: one /64 network). Behind a proxy, also set `CORRAL_HUB_TRUSTED_PROXIES`.",
    schema: wholeNumber(1, 1_000_000),
    default: hubDefaults.signInsPerMinute
  }),
  trustedProxies: setting({
    name: "CORRAL_HUB_TRUSTED_PROXIES",
    doc: "Proxies in front of the Hub: addresses or networks, separated by commas, such as `127.0.0.1,10.0.0.0/8`. The client is the last address in `X-Forwarded-For` (or in `Forwarded`, if that is missing) that is not in this list. If unset, the headers are ignored and all clients behind a proxy share its address.",
    schema: TrustedProxies,
    default: [],
    shownDefault: ""
  }),
  retentionDays: setting({
    name: "CORRAL_HUB_RETENTION_DAYS",
    doc: "Days after which the events of an ended run are deleted, at most eight days later; 0 keeps them forever.",
    schema: wholeNumber(0, 36_500),
    default: hubDefaults.retentionDays
  }),
  devSignIn: setting({
    name: "CORRAL_HUB_DEV_SIGN_IN",
    doc: "`1` starts an identity provider that accepts every name. For development: only on loopback, and not with another provider.",
    schema: oneOf(["0", "1"], "1 or nothing"),
    default: "0",
    shownDefault: ""
  }),
  gatewayTokens: secretSetting(
    "CORRAL_HUB_GATEWAY_TOKEN",
    "Bearer token of the Gateway: 32 characters or more. Several tokens, separated by commas or line breaks, allow rotation. If unset, no Gateway can connect.",
    list(BearerToken, TOKENS, /[\s,]+/).check(Schema.isMinLength(1, { expected: TOKENS }))
  ),
  oidc: oidcSettings,
  securityContact: optionalSetting({
    name: "CORRAL_SECURITY_CONTACT",
    doc: "Where people report vulnerabilities, a `mailto:` or `https:` address. It is published as `/.well-known/security.txt`, which is not found without it.",
    schema: ContactAddress
  }),
  telemetry: telemetrySettings
}

/** Settings that allow each other: a Hub beyond loopback needs https, and the development sign-in needs loopback. */
const checkExposure = Effect.fnUntraced(function* (config: HubConfig) {
  const { devSignIn, host, oidc, publicUrl } = config
  if (!isLoopback(host) && publicUrl?.startsWith("https://") !== true)
    return yield* invalidSetting(
      "CORRAL_HUB_PUBLIC_URL",
      "an https origin, because CORRAL_HUB_HOST is not loopback"
    )
  if (devSignIn !== true) return config
  const name = publicUrl === undefined ? host : new URL(publicUrl).hostname
  if (!isLoopback(host) || !isLoopback(name))
    return yield* invalidSetting(
      "CORRAL_HUB_DEV_SIGN_IN",
      "nothing, because the Hub is reached from beyond loopback"
    )
  return oidc === undefined
    ? config
    : yield* invalidSetting("CORRAL_HUB_DEV_SIGN_IN", "nothing, because CORRAL_OIDC_ISSUER is set")
})

const hubConfig = Config.all({ ...hubSettings, oidc: oidcConfig, telemetry: telemetryConfig }).pipe(
  Config.map(({ devSignIn, gatewayTokens = [], ...settings }): HubConfig => ({
    ...settings,
    gatewayTokens,
    devSignIn: devSignIn === "1"
  })),
  Config.mapEffect(checkExposure)
)

/** Reads the configuration of a Hub from an environment. */
export const readHubConfig = (environment: Environment): Effect.Effect<HubConfig, SettingInvalid> =>
  readSettings(environment, hubConfig)
