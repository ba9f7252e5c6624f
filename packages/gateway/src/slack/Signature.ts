/**
 * Slack's signature: an HMAC under the app's Signing Secret over the time as it came and the body's bytes.
 *
 * Slack documents no replay window, and says of retries only when they come: at once, after a minute, after five. Its own
 * libraries refuse what is more than five minutes old, as is done here, and take those retries: so each is signed with its own time.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

const TIMESTAMP = "x-slack-request-timestamp"
const SIGNATURE = "x-slack-signature"

const WINDOW_MS = 5 * 60_000

/** `timestamp`: Unix seconds. */
export const slackSignature = (timestamp: string, secret: string, body: Uint8Array): string =>
  `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex")}`

/**
 * What is wrong with a request's signature; undefined where nothing is. A header that was sent twice is one value with a comma in it, which
 * is neither a time nor a signature.
 */
export const faultOf = (
  headers: IncomingHttpHeaders,
  secret: string,
  body: Uint8Array,
  now: number
): string | undefined => {
  const [timestamp, signature] = [headers[TIMESTAMP], headers[SIGNATURE]]
  if (typeof timestamp !== "string" || typeof signature !== "string") return "not signed"
  if (!/^\d{1,11}$/.test(timestamp)) return "of no time"
  if (!same(signature, slackSignature(timestamp, secret, body))) return "wrong signature"
  return Math.abs(Number(timestamp) * 1_000 - now) > WINDOW_MS ? "too old, or of tomorrow" : undefined
}

/** Takes a time that says nothing of where two texts differ. */
const same = (given: string, wanted: string): boolean => {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)]
  return left.length === right.length && timingSafeEqual(left, right)
}
