/**
 * The Hub's settings as environment variables: one table that is both read and documented.
 */
import {
  type Environment,
  givenOr,
  invalid,
  readerOf,
  type Setting,
  type SettingInvalid,
  whole
} from "@corral/service/Settings"
import { Effect, Redacted, Schema } from "effect"
import { isIP } from "node:net"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { defaults, type HubConfig } from "./HubConfig.ts"

export const settings = [
  { name: "CORRAL_HOME", what: "Folder of Corral's own files.", fallback: "~/.corral" },
  {
    name: "CORRAL_HUB_HOST",
    what: "Address to listen on. Anything but loopback needs `CORRAL_HUB_PUBLIC_URL` with https.",
    fallback: "127.0.0.1"
  },
  { name: "CORRAL_HUB_PORT", what: "Port to listen on; 0 takes any free one.", fallback: "0" },
  {
    name: "CORRAL_HUB_PUBLIC_URL",
    what: "Origin at which browsers and devices reach the Hub, such as `https://corral.example.com`: where a proxy ends TLS.",
    fallback: "the address that it listens on"
  },
  {
    name: "CORRAL_DATABASE_URL",
    what: "An outside PostgreSQL, `postgres://user:password@host/database`. Unset, the Hub brings one of its own.",
    fallback: ""
  },
  {
    name: "CORRAL_HUB_DATABASE_CONNECTIONS",
    what: "Connections to the database at once.",
    fallback: String(defaults.maxConnections)
  },
  {
    name: "CORRAL_HUB_REQUESTS_PER_SECOND",
    what: "Requests that one sign-in, or one address without any, may send in a second; one more is refused as `rate_limited`.",
    fallback: String(defaults.requestsPerSecond)
  }
] as const satisfies ReadonlyArray<Setting>

type Name = (typeof settings)[number]["name"]

const Host = Schema.String.check(
  Schema.makeFilter((host) => host === "localhost" || isIP(host) !== 0 || "Expected an address")
)

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))

/** Only an origin: whatever stands behind it would be forgotten by somebody. */
const Origin = Schema.String.check(
  Schema.makeFilter((text) => {
    const url = URL.parse(text)
    return (
      (url !== null && /^https?:$/.test(url.protocol) && url.origin === text && url.username === "") ||
      "Expected an origin"
    )
  })
)

const DatabaseUrl = Schema.String.check(Schema.isPattern(/^postgres(ql)?:\/\/[^\s]+$/))

/** Reads the settings from an environment. */
export const fromEnvironment = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<HubConfig, SettingInvalid> {
  const read = readerOf<Name>(env)
  const host = yield* read("CORRAL_HUB_HOST", Host, defaults.host, "an IP address or localhost")
  const publicUrl = yield* read(
    "CORRAL_HUB_PUBLIC_URL",
    Origin,
    undefined,
    "an origin such as https://corral.example.com, without a path"
  )
  if (!isLoopback(host) && publicUrl?.startsWith("https://") !== true) {
    return yield* invalid("CORRAL_HUB_PUBLIC_URL", `an https origin, because CORRAL_HUB_HOST is not loopback`)
  }
  const databaseUrl = yield* read(
    "CORRAL_DATABASE_URL",
    DatabaseUrl,
    undefined,
    "postgres://user:password@host/database"
  )
  return {
    home: resolve(givenOr(env["CORRAL_HOME"], join(homedir(), ".corral"))),
    host,
    port: yield* read("CORRAL_HUB_PORT", whole(0, 65_535), defaults.port, "a port from 0 to 65535"),
    publicUrl,
    databaseUrl: databaseUrl === undefined ? undefined : Redacted.make(databaseUrl),
    maxConnections: yield* read(
      "CORRAL_HUB_DATABASE_CONNECTIONS",
      whole(2, 1_000),
      defaults.maxConnections,
      "2 to 1000"
    ),
    requestsPerSecond: yield* read(
      "CORRAL_HUB_REQUESTS_PER_SECOND",
      whole(1, 1_000_000),
      defaults.requestsPerSecond,
      "1 to 1000000"
    )
  }
})
