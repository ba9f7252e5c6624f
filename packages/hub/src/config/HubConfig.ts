/**
 * Everything a Hub is told from outside. A plain value: `fromEnvironment` reads it from variables, an embedding program writes it.
 */
import type { TelemetryConfig } from "@corral/service/telemetry/TelemetrySettings"
import type { Redacted } from "effect"
import type { LinkOptions } from "./LinkOptions.ts"
import type { OidcConfig } from "./OidcConfig.ts"

export interface HubConfig {
  /** Folder of the Hub's own files; the embedded server's are in `postgres`. */
  readonly home: string
  /** Address to listen on. Anything but loopback needs a `publicUrl` with https, where a proxy ends TLS. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Origin at which browsers and devices reach this Hub, without a path. Absent: the address that it listens on. */
  readonly publicUrl?: string | undefined
  /** Of an outside PostgreSQL. Absent: an embedded one. */
  readonly databaseUrl?: Redacted.Redacted | undefined
  /** To the database, at once. */
  readonly maxConnections: number
  /** Of one sign-in, or of one address without any, in a second. */
  readonly requestsPerSecond: number
  /** Sign-ins begun, or refused, from one address in a minute. */
  readonly signInsPerMinute: number
  /** Addresses and networks of proxies whose `X-Forwarded-For` or `Forwarded` names the client. */
  readonly trustedProxies?: ReadonlyArray<string> | undefined
  /** How long the events of an ended run are kept, in days; 0 keeps them for ever. */
  readonly retentionDays: number
  /** The identity provider. Absent: nobody can sign in, unless `devSignIn`. */
  readonly oidc?: OidcConfig | undefined
  /** Brings an identity provider that takes everyone at their word: for development on one machine. */
  readonly devSignIn?: boolean | undefined
  /** The name that its page proposes. */
  readonly devSignInAs?: string | undefined
  /** With which Gateways say who they are. Absent: there is none. */
  readonly gatewayTokens?: ReadonlyArray<Redacted.Redacted> | undefined
  /** Who is told of traces and metrics; nobody where it is not said. */
  readonly telemetry?: TelemetryConfig | undefined
  /** Of the links of Edges; absent but in programs that try what happens when time is over. */
  readonly link?: LinkOptions | undefined
}

export const hubDefaults = {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 20,
  requestsPerSecond: 100,
  signInsPerMinute: 5,
  retentionDays: 0
} satisfies Partial<HubConfig>
