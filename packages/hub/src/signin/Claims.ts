/** Claims of the identity provider: name, email address and groups at configured paths, and the admission check. Pure. */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { capped } from "@corral/domain/text/CappedPattern"
import type { OidcConfig } from "../config/HubConfig.ts"
import type { ProviderIdentity } from "./Users.ts"

export type Claims = Readonly<Record<string, unknown>>

/** The value at a path such as `realm_access.roles`. A claim whose name contains the dots wins. */
export const claimAt = (claims: Claims, path: string): unknown => {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path
    .split(".")
    .reduce<unknown>(
      (value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      claims
    )
}

const textAt = (claims: Claims, path: string): string | undefined => {
  const value = claimAt(claims, path)
  return typeof value === "string" && value.trim() !== "" ? storable(value) : undefined
}

/** Text without what the database or a line of text cannot hold. */
const storable = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 200)
    .toWellFormed()

/** A list of names, one name, or an object whose keys are the names. */
export const groupsAt = (claims: Claims, path: string): ReadonlyArray<string> => {
  const value = claimAt(claims, path)
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.filter((name) => typeof name === "string")
  return isJsonObject(value) ? Object.keys(value) : []
}

/** The `email` claim counts only if it is verified; another configured claim counts as it is. */
const emailOf = (claims: Claims, path: string): string | undefined =>
  path === "email" && claims["email_verified"] !== true ? undefined : textAt(claims, path)

/** Identity in the claims. Only issuer and subject identify a user. */
export const identityOf = (claims: Claims, config: OidcConfig, subject: string): ProviderIdentity => {
  const { claims: paths, issuer, knownAs = issuer } = config
  const email = emailOf(claims, paths.email)
  const name = textAt(claims, paths.name) ?? textAt(claims, "preferred_username") ?? email ?? "Unnamed user"
  return { issuer: knownAs, subject, name, email }
}

/**
 * The domain of an address, for the admission check. The address has exactly one `@`, a plain local part and a domain name.
 *
 * Reads the raw claim. The shown address is shortened and cleaned, so it can end in the middle of the real domain.
 */
const emailDomainOf = (claims: Claims, path: string): string | undefined => {
  if (emailOf(claims, path) === undefined) return undefined
  const value = claimAt(claims, path)
  const [, domain] = (typeof value === "string" ? ADDRESS.exec(value) : undefined) ?? []
  return domain?.toLowerCase()
}

/** RFC 5321: a path has 256 characters with its brackets. */
const LONGEST_ADDRESS = 254
/** The part of RFC 5322 that mail systems use: no quoted local part, no comment, no address literal. */
const ADDRESS = capped(
  LONGEST_ADDRESS,
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,63})$/
)

/** Whether a user with these claims is admitted. Every configured restriction must hold. */
export const isAdmitted = (claims: Claims, config: OidcConfig): boolean => {
  const { allowedDomains, allowedGroups, claims: paths } = config
  const groups = groupsAt(claims, paths.groups)
  const domain = emailDomainOf(claims, paths.email)
  return (
    (allowedGroups.length === 0 || groups.some((group) => allowedGroups.includes(group))) &&
    (allowedDomains.length === 0 || (domain !== undefined && allowedDomains.includes(domain)))
  )
}

/** Whether the ID token lacks a claim that the Hub needs, so that it requests the user info. */
export const lacksRequiredClaim = (
  claims: Claims,
  { allowedDomains, allowedGroups, claims: paths }: OidcConfig
): boolean =>
  claimAt(claims, paths.name) === undefined ||
  claimAt(claims, paths.email) === undefined ||
  (allowedDomains.length > 0 && emailOf(claims, paths.email) === undefined) ||
  (allowedGroups.length > 0 && claimAt(claims, paths.groups) === undefined)
