/**
 * Tokens of the Hub: 256 random bits with a prefix that secret scanners recognize. The database has only the SHA-256 of a token and finds it
 * by an index, without a comparison byte by byte.
 */
import { createHash, createHmac, randomBytes } from "node:crypto"

/** Purposes of tokens. A token is invalid for any other purpose. */
const purposes = { session: "s", key: "k", device: "d", join: "j" } as const
export type Purpose = keyof typeof purposes

export const newToken = (purpose: Purpose): string =>
  `corral_${purposes[purpose]}_${randomBytes(32).toString("base64url")}`

/**
 * The token that replaces another one. Who has that token and the salt can derive it again, so that a repeated exchange gives the same token
 * although no token is stored.
 */
export const successorOf = (token: string, salt: Uint8Array): string =>
  `corral_${purposes.session}_${createHmac("sha256", token).update(salt).digest("base64url")}`

const shape = /^corral_([skdj])_[A-Za-z0-9_-]{43}$/

/** Purpose of a well-formed token; `undefined` for other text, which needs no lookup. */
export const purposeOf = (token: string): Purpose | undefined => {
  const letter = shape.exec(token)?.[1]
  return (Object.keys(purposes) as ReadonlyArray<Purpose>).find((purpose) => purposes[purpose] === letter)
}

export const tokenHash = (token: string): Buffer => createHash("sha256").update(token).digest()

/** CSRF token of a session, which browsers send in a header with every write. Only pages of this Hub can read it. */
export const csrfOf = (token: string): string =>
  createHash("sha256").update(`csrf ${token}`).digest("base64url")
