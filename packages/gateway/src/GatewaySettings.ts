/** Settings of the Gateway: one table that documents and reads its environment variables. */
import { isLoopback } from "@corral/service/Addresses"
import { TrustedProxies } from "@corral/service/http/ClientAddress"
import { readSettings } from "@corral/service/settings/ReadSettings"
import {
  type Environment,
  invalidSetting,
  optionalSetting,
  secretSetting,
  setting,
  type SettingInvalid,
  ContactAddress,
  DatabaseUrl,
  ListenHost,
  Port,
  Secret,
  ServiceUrl,
  wholeNumber
} from "@corral/service/settings/Setting"
import { telemetryConfig, telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { Config, Effect } from "effect"
import { missingForPublicHost, platformConfigs, platformSettings } from "./ChatPlatforms.ts"
import { gatewayDefaults, type GatewayConfig } from "./GatewayConfig.ts"
import type { HubAddress } from "./hub/Hub.ts"

const hubSettings = {
  url: optionalSetting({
    name: "CORRAL_HUB_URL",
    doc: "URL of the Hub that handles requests from chats, the same one that its users open. If unset, events are stored and stay pending.",
    schema: ServiceUrl
  }),
  token: secretSetting(
    "CORRAL_GATEWAY_HUB_TOKEN",
    "Bearer token for the Hub: its `CORRAL_HUB_GATEWAY_TOKEN`. Needed with `CORRAL_HUB_URL`.",
    Secret
  )
}

export const gatewaySettings = {
  host: setting({
    name: "CORRAL_GATEWAY_HOST",
    doc: "Address to listen on. With a bot on Feishu, any address except loopback needs `CORRAL_FEISHU_ENCRYPT_KEY`.",
    schema: ListenHost,
    default: gatewayDefaults.host
  }),
  port: setting({
    name: "CORRAL_GATEWAY_PORT",
    doc: "Port to listen on; 0 selects a free port.",
    schema: Port,
    default: gatewayDefaults.port
  }),
  databaseUrl: optionalSetting({
    name: "CORRAL_DATABASE_URL",
    doc: "PostgreSQL that stores the events, `postgres://user:password@host/database`: the Hub's or another one. Required. The Gateway uses the schema `corral_gateway`.",
    schema: DatabaseUrl
  }),
  maxConnections: setting({
    name: "CORRAL_GATEWAY_DATABASE_CONNECTIONS",
    doc: "Maximum number of connections to the database.",
    schema: wholeNumber(4, 1_000),
    default: gatewayDefaults.maxConnections
  }),
  requestsPerSecond: setting({
    name: "CORRAL_GATEWAY_REQUESTS_PER_SECOND",
    doc: "Requests per second from one address (IPv6: one /64 network). Further requests are refused as `rate_limited`. Behind a proxy, also set `CORRAL_GATEWAY_TRUSTED_PROXIES`.",
    schema: wholeNumber(1, 1_000_000),
    default: gatewayDefaults.requestsPerSecond
  }),
  trustedProxies: setting({
    name: "CORRAL_GATEWAY_TRUSTED_PROXIES",
    doc: "Proxies in front of the Gateway, like `CORRAL_HUB_TRUSTED_PROXIES` of the Hub.",
    schema: TrustedProxies,
    default: [],
    shownDefault: ""
  }),
  hub: hubSettings,
  platforms: platformSettings,
  securityContact: optionalSetting({
    name: "CORRAL_SECURITY_CONTACT",
    doc: "Where people report vulnerabilities, a `mailto:` or `https:` address. It is published as `/.well-known/security.txt`, which is not found without it.",
    schema: ContactAddress
  }),
  telemetry: telemetrySettings
}

/** The Hub and its token: both or none. The token is sent with every call, so plain http is for loopback only. */
const hubConfig = Config.all(hubSettings).pipe(
  Config.mapEffect(
    Effect.fnUntraced(function* ({
      token,
      url
    }): Effect.fn.Return<HubAddress | undefined, Config.ConfigError> {
      if (url === undefined)
        return token === undefined
          ? undefined
          : yield* invalidSetting("CORRAL_HUB_URL", "the Hub's URL, because CORRAL_GATEWAY_HUB_TOKEN is set")
      if (token === undefined)
        return yield* invalidSetting(
          "CORRAL_GATEWAY_HUB_TOKEN",
          "the Hub's token, because CORRAL_HUB_URL is set"
        )
      if (url.startsWith("http:") && !isLoopback(new URL(url).hostname))
        return yield* invalidSetting("CORRAL_HUB_URL", "a URL with https, or with http on loopback")
      return { url, token }
    })
  )
)

const gatewayConfig = Config.all({
  ...gatewaySettings,
  hub: hubConfig,
  platforms: platformConfigs,
  telemetry: telemetryConfig
}).pipe(
  Config.mapEffect(({ databaseUrl, platforms, ...settings }) =>
    databaseUrl === undefined
      ? invalidSetting("CORRAL_DATABASE_URL", "postgres://user:password@host/database")
      : Effect.succeed<GatewayConfig>({ ...settings, ...platforms, databaseUrl })
  ),
  Config.mapEffect((config) => {
    const missing = isLoopback(config.host) ? undefined : missingForPublicHost(config)
    return missing === undefined
      ? Effect.succeed(config)
      : invalidSetting(missing, "a key, because CORRAL_GATEWAY_HOST is not loopback")
  })
)

/** Reads the configuration of a Gateway from an environment. */
export const readGatewayConfig = (environment: Environment): Effect.Effect<GatewayConfig, SettingInvalid> =>
  readSettings(environment, gatewayConfig)
