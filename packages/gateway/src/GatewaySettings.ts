/**
 * The Gateway's settings as environment variables: one table that is both read and documented.
 */
import {
  type Environment,
  invalid,
  readerOf,
  type Setting,
  type SettingInvalid,
  whole
} from "@corral/service/Settings"
import { DatabaseUrl, isLoopback, ListenHost, Origin } from "@corral/service/Addresses"
import { Effect, Redacted } from "effect"
import { feishuFrom, feishuSettings } from "./feishu/FeishuSettings.ts"
import { defaults, type GatewayConfig } from "./GatewayConfig.ts"

export const settings = [
  {
    name: "CORRAL_GATEWAY_HOST",
    what: "Address to listen on. Anything but loopback needs `CORRAL_FEISHU_ENCRYPT_KEY`.",
    fallback: defaults.host
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
    fallback: String(defaults.maxConnections)
  },
  {
    name: "CORRAL_GATEWAY_REQUESTS_PER_SECOND",
    what: "Requests that one address may send in a second; one more is refused as `rate_limited`. Behind a proxy all come from one address.",
    fallback: String(defaults.requestsPerSecond)
  },
  { name: "CORRAL_HUB_URL", what: "Origin of the Hub that is told of events.", fallback: "" },
  ...feishuSettings
] as const satisfies ReadonlyArray<Setting>

type Name = (typeof settings)[number]["name"]

/** Reads the settings from an environment. */
export const fromEnvironment = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<GatewayConfig, SettingInvalid> {
  const read = readerOf<Name>(env)
  const host = yield* read("CORRAL_GATEWAY_HOST", ListenHost, defaults.host, "an IP address or localhost")
  const feishu = yield* feishuFrom(env)
  if (!isLoopback(host) && feishu?.encryptKey === undefined) {
    return yield* invalid("CORRAL_FEISHU_ENCRYPT_KEY", "a key, because CORRAL_GATEWAY_HOST is not loopback")
  }
  const databaseUrl = yield* read(
    "CORRAL_DATABASE_URL",
    DatabaseUrl,
    undefined,
    "postgres://user:password@host/database"
  )
  if (databaseUrl === undefined)
    return yield* invalid("CORRAL_DATABASE_URL", "postgres://user:password@host/database")
  return {
    host,
    port: yield* read("CORRAL_GATEWAY_PORT", whole(0, 65_535), defaults.port, "a port from 0 to 65535"),
    databaseUrl: Redacted.make(databaseUrl),
    maxConnections: yield* read(
      "CORRAL_GATEWAY_DATABASE_CONNECTIONS",
      whole(4, 1_000),
      defaults.maxConnections,
      "4 to 1000"
    ),
    requestsPerSecond: yield* read(
      "CORRAL_GATEWAY_REQUESTS_PER_SECOND",
      whole(1, 1_000_000),
      defaults.requestsPerSecond,
      "1 to 1000000"
    ),
    hubUrl: yield* read("CORRAL_HUB_URL", Origin, undefined, "an origin such as https://corral.example.com"),
    feishu
  }
})
