/** How this Hub is known to an identity provider, and what it takes from it. */
import type { Redacted } from "effect"
import type { ClientKey } from "./ClientKey.ts"

export interface OidcConfig {
  /** As the provider writes it. Plain http on loopback alone. */
  readonly issuer: string
  /** Under which its people are kept, where its address is another one at each start. Absent: the issuer. */
  readonly knownAs?: string | undefined
  readonly clientId: string
  /** With it there is no secret. */
  readonly clientKey?: ClientKey | undefined
  /** Without it and without a key: a public client. */
  readonly clientSecret?: Redacted.Redacted | undefined
  readonly tokenAuth: TokenAuth
  /** Separated by spaces. */
  readonly scopes: string
  /** Where a claim stands: its name, or a path such as `realm_access.roles`. */
  readonly claims: { readonly name: string; readonly email: string; readonly groups: string }
  /** Empty: no restriction. */
  readonly allowedGroups: ReadonlyArray<string>
  /** Of a person's address, in lower case. Empty: no restriction. */
  readonly allowedDomains: ReadonlyArray<string>
  /** Certificates that are trusted for the provider beside the system's, as PEM. */
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
