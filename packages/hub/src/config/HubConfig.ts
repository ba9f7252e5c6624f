/**
 * Configuration of a Hub: a plain value, and the service by which layers receive it. It contains the time limits of links and the
 * registration of this Hub with an identity provider. `readHubConfig` reads it from variables; an embedding program writes it.
 */
import type { TelemetryConfig } from "@corral/service/telemetry/TelemetrySettings"
import { Context, type Redacted } from "effect"
import type { ClientKey } from "./ClientKey.ts"

export interface LinkOptions {
  /** How long a proof is valid. */
  readonly accessSeconds?: number | undefined
  /** How long a socket may stay open without a proof. */
  readonly unprovedMs?: number | undefined
}

export interface OidcConfig {
  /** Exactly as the provider spells it. Plain http only on loopback. */
  readonly issuer: string
  /** Stable name under which users are stored when the issuer's address changes with each start. Absent: the issuer. */
  readonly knownAs?: string | undefined
  readonly clientId: string
  /** Replaces the client secret. */
  readonly clientKey?: ClientKey | undefined
  /** Without a secret and without a key, the Hub is a public client. */
  readonly clientSecret?: Redacted.Redacted | undefined
  readonly tokenAuth: TokenAuth
  /** Separated by spaces. */
  readonly scopes: string
  /** Name of each claim, or a path such as `realm_access.roles`. */
  readonly claims: { readonly name: string; readonly email: string; readonly groups: string }
  /** Empty: no restriction. */
  readonly allowedGroups: ReadonlyArray<string>
  /** Domains of email addresses, in lower case. Empty: no restriction. */
  readonly allowedDomains: ReadonlyArray<string>
  /** PEM certificates that are trusted for the provider in addition to the system's. */
  readonly certificates?: string | undefined
  readonly prompt?: string | undefined
  readonly acrValues?: string | undefined
}

export const tokenAuths = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"] as const
export type TokenAuth = (typeof tokenAuths)[number]

export const oidcDefaults = {
  tokenAuth: "client_secret_basic",
  scopes: "openid profile email",
  claims: { name: "name", email: "email", groups: "groups" },
  allowedGroups: [],
  allowedDomains: []
} satisfies Partial<OidcConfig>

export interface HubConfig {
  /** Folder of the Hub's own files; the embedded server's are in `postgres`. */
  readonly home: string
  /** Address to listen on. Anything but loopback needs a `publicUrl` with https, where a proxy ends TLS. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Origin at which browsers and devices reach this Hub, without a path. Absent: the listen address. */
  readonly publicUrl?: string | undefined
  /** URL of an external PostgreSQL. Absent: the embedded one. */
  readonly databaseUrl?: Redacted.Redacted | undefined
  /** Connections to the database. */
  readonly maxConnections: number
  /** Limit per sign-in, or per address for requests without one. */
  readonly requestsPerSecond: number
  /** Started and refused sign-ins per address. */
  readonly signInsPerMinute: number
  /** Addresses and networks of proxies whose `X-Forwarded-For` or `Forwarded` names the client. */
  readonly trustedProxies?: ReadonlyArray<string> | undefined
  /** Days after which the events of an ended run are deleted; 0 keeps them forever. */
  readonly retentionDays: number
  /** The identity provider. Absent: sign-in works only with `devSignIn`. */
  readonly oidc?: OidcConfig | undefined
  /** Starts an identity provider that accepts every name. For development on one machine. */
  readonly devSignIn?: boolean | undefined
  /** Name that the development provider suggests. */
  readonly devSignInAs?: string | undefined
  /** Bearer tokens of Gateways. Absent: no Gateway can connect. */
  readonly gatewayTokens?: ReadonlyArray<Redacted.Redacted> | undefined
  /** Where people report vulnerabilities, for `/.well-known/security.txt`: a `mailto:` or `https:` address. */
  readonly securityContact?: string | undefined
  /** Export of traces and metrics. Absent: no export. */
  readonly telemetry?: TelemetryConfig | undefined
  /** Time limits of links. Absent except in tests of those limits. */
  readonly link?: LinkOptions | undefined
}

/** Configuration of the Hub that a layer is part of. */
export const HubConfig = Context.Service<HubConfig>("corral/hub/HubConfig")

export const hubDefaults = {
  host: "127.0.0.1",
  port: 0,
  maxConnections: 20,
  requestsPerSecond: 100,
  signInsPerMinute: 5,
  retentionDays: 0
} satisfies Partial<HubConfig>
