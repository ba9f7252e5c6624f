/**
 * Access to one preview: a ticket, once, and then its cookie.
 *
 * Tickets and the cookie are 256 random bits. Only their hashes are stored, so that a lookup reveals nothing about the others. Browsers do
 * not separate cookies by port: the cookie's name is unique per preview, and `isGateCookie` finds the cookies that an upstream must not see.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

/** Lifetime of a ticket. */
const TICKET_MS = 60_000
/** Maximum number of unused tickets. A new one replaces the oldest. */
const MAX_TICKETS = 32
const PREFIX = "corral_prv_"

/** Whether a cookie name belongs to a preview, this one or another. */
export const isGateCookie = (name: string): boolean => name.trim().toLowerCase().startsWith(PREFIX)

const hash = (secret: string): Buffer => createHash("sha256").update(secret).digest()
const secret = (): string => randomBytes(32).toString("base64url")

export class PreviewGate {
  readonly #cookieName = PREFIX + randomBytes(8).toString("hex")
  readonly #cookieValue = secret()
  readonly #cookieHash = hash(this.#cookieValue)
  /** Hash of a ticket → its expiry, in Unix milliseconds. */
  readonly #tickets = new Map<string, number>()

  /** A new ticket, valid once within a minute. */
  issue(now: number): string {
    const ticket = secret()
    this.#tickets.set(hash(ticket).toString("hex"), now + TICKET_MS)
    const [oldest] = this.#tickets.keys()
    if (this.#tickets.size > MAX_TICKETS && oldest !== undefined) this.#tickets.delete(oldest)
    return ticket
  }

  /** The `Set-Cookie` for a valid ticket; `undefined` for a used, expired or unknown one. */
  redeem(ticket: string, now: number): string | undefined {
    const key = hash(ticket).toString("hex")
    const until = this.#tickets.get(key)
    this.#tickets.delete(key)
    return until !== undefined && now < until
      ? `${this.#cookieName}=${this.#cookieValue}; Path=/; HttpOnly; SameSite=Strict`
      : undefined
  }

  /** Whether a request has the cookie. */
  admits({ cookie = "" }: IncomingHttpHeaders): boolean {
    const start = `${this.#cookieName}=`
    return cookie
      .split(";")
      .map((pair) => pair.trim())
      .some(
        (pair) => pair.startsWith(start) && timingSafeEqual(hash(pair.slice(start.length)), this.#cookieHash)
      )
  }
}
