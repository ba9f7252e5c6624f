/**
 * What the identity provider says of a person, as we read it: name, address and groups at configurable places, and whether those may come
 * in. Pure.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import type { OidcConfig } from "../config/OidcConfig.ts"
import type { Identity } from "./Users.ts"

export type Claims = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Claims =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value at `realm_access.roles`; a name that has dots of its own is found first. */
export const claimAt = (claims: Claims, path: string): unknown => {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path
    .split(".")
    .reduce<unknown>(
      (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
      claims
    )
}

const textAt = (claims: Claims, path: string): string | undefined => {
  const value = claimAt(claims, path)
  return typeof value === "string" && value.trim() !== "" ? storable(value) : undefined
}

/** What the database and a line of text can hold of it. */
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
  return isObject(value) ? Object.keys(value) : []
}

/** An address of the provider's own claim counts once it was verified; a claim that was chosen for it counts as it is. */
const emailOf = (claims: Claims, path: string): string | undefined =>
  path === "email" && claims["email_verified"] !== true ? undefined : textAt(claims, path)

/** Who it is: told from others by issuer and subject alone. */
export const identityOf = (claims: Claims, config: OidcConfig, subject: string): Identity => {
  const { claims: places, issuer, knownAs = issuer } = config
  const email = emailOf(claims, places.email)
  const name = textAt(claims, places.name) ?? textAt(claims, "preferred_username") ?? email ?? "Somebody"
  return { issuer: knownAs, subject, name, email }
}

/**
 * The domain of an address, for the admission check. The address has exactly one `@`, a plain local part and a domain name.
 *
 * Reads the raw claim. The shown address is shortened and cleaned, so it can end in the middle of the real domain.
 */
export const emailDomainOf = (claims: Claims, path: string): string | undefined => {
  if (emailOf(claims, path) === undefined) return undefined
  const value = claimAt(claims, path)
  const [, domain] = (typeof value === "string" ? ADDRESS.exec(value) : undefined) ?? []
  return domain?.toLowerCase()
}

/** RFC 5321: a path has 256 characters with its brackets. */
const LONGEST_ADDRESS = 254
/** Of RFC 5322 what mail systems use: no quoted local part, no comment, no address literal. */
const ADDRESS = capped(
  LONGEST_ADDRESS,
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,63})$/
)

/** Whether somebody with those claims may come in: every restriction that is set must hold. */
export const isAdmitted = (claims: Claims, config: OidcConfig): boolean => {
  const { allowedDomains, allowedGroups, claims: places } = config
  const groups = groupsAt(claims, places.groups)
  const domain = emailDomainOf(claims, places.email)
  return (
    (allowedGroups.length === 0 || groups.some((group) => allowedGroups.includes(group))) &&
    (allowedDomains.length === 0 || (domain !== undefined && allowedDomains.includes(domain)))
  )
}

/** Whether the ID token leaves out something that we look for, so that the provider is asked for more. */
export const isShort = (
  claims: Claims,
  { allowedDomains, allowedGroups, claims: places }: OidcConfig
): boolean =>
  claimAt(claims, places.name) === undefined ||
  claimAt(claims, places.email) === undefined ||
  (allowedDomains.length > 0 && emailOf(claims, places.email) === undefined) ||
  (allowedGroups.length > 0 && claimAt(claims, places.groups) === undefined)
