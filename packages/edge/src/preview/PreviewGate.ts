/**
 * Access to one preview: a ticket, once, and then its cookie.
 *
 * Tickets and the cookie are 256 random bits. Only their hashes are stored, so that a lookup reveals nothing about the others. Browsers do
 * not separate cookies by port: the cookie's name is unique per preview, and `isGateCookie` finds the cookies that an upstream must not see.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

/** How long a ticket opens its preview. */
const TICKET_MS = 60_000
/** Tickets that wait at once; the oldest gives way. */
const MAX_TICKETS = 32
const PREFIX = "corral_prv_"

/** Whether a cookie of that name may be a preview's own, this one's or another's. */
export const isGateCookie = (name: string): boolean => name.trim().toLowerCase().startsWith(PREFIX)

const hash = (secret: string): Buffer => createHash("sha256").update(secret).digest()
const secret = (): string => randomBytes(32).toString("base64url")

export class PreviewGate {
  readonly #cookieName = PREFIX + randomBytes(8).toString("hex")
  readonly #cookieValue = secret()
  readonly #cookieHash = hash(this.#cookieValue)
  /** Hash of a ticket → when it is too late for it, in Unix milliseconds. */
  readonly #tickets = new Map<string, number>()

  /** A new ticket, good once within a minute. */
  issue(now: number): string {
    const ticket = secret()
    this.#tickets.set(hash(ticket).toString("hex"), now + TICKET_MS)
    const [oldest] = this.#tickets.keys()
    if (this.#tickets.size > MAX_TICKETS && oldest !== undefined) this.#tickets.delete(oldest)
    return ticket
  }

  /** The `Set-Cookie` that a good ticket is worth; `undefined` for one that is used, late or not ours. */
  redeem(ticket: string, now: number): string | undefined {
    const key = hash(ticket).toString("hex")
    const until = this.#tickets.get(key)
    this.#tickets.delete(key)
    return until !== undefined && now < until
      ? `${this.#cookieName}=${this.#cookieValue}; Path=/; HttpOnly; SameSite=Strict`
      : undefined
  }

  /** Whether a request brings the cookie. */
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
