/** Registration of this Hub with an identity provider, and the claims that the Hub reads. */
import type { Redacted } from "effect"
import type { ClientKey } from "./ClientKey.ts"

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
