/**
 * Tokens of the Hub: 256 random bits with a prefix by which scanners find one that was lost. Only the SHA-256 of a token is kept, and
 * looked up as a whole: nothing is compared byte by byte.
 */
import { createHash, randomBytes } from "node:crypto"

/** What a token is for; one made for one purpose is worth nothing for another. */
export const purposes = { session: "s", key: "k", device: "d", join: "j" } as const
export type Purpose = keyof typeof purposes

export const newToken = (purpose: Purpose): string =>
  `corral_${purposes[purpose]}_${randomBytes(32).toString("base64url")}`

const shape = /^corral_([skdj])_[A-Za-z0-9_-]{43}$/

/** What a well-formed token says it is for; undefined for anything else, which needs no look-up. */
export const purposeOf = (token: string): Purpose | undefined => {
  const letter = shape.exec(token)?.[1]
  return (Object.keys(purposes) as ReadonlyArray<Purpose>).find((purpose) => purposes[purpose] === letter)
}

export const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest()

/** What a browser must repeat in a header on every write: known to pages of this Hub alone, and worth nothing without the cookie. */
export const csrfOf = (token: string): string =>
  createHash("sha256").update(`csrf ${token}`).digest("base64url")
