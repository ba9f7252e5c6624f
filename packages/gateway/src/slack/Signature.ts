/**
 * Slack's signature: an HMAC of the unchanged timestamp and the bytes of the body, with the app's Signing Secret.
 *
 * Requests older than five minutes are refused, as in Slack's libraries. Slack retries immediately, after one minute and after five minutes, and
 * signs each retry with its own time. Slack documents no replay window.
 */
import { createHmac } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { isSameSecret } from "@corral/service/SecretComparison"

const TIMESTAMP = "x-slack-request-timestamp"
const SIGNATURE = "x-slack-signature"

const WINDOW_MS = 5 * 60_000

/** `timestamp`: Unix seconds. */
export const slackSignature = (timestamp: string, secret: string, body: Uint8Array): string =>
  `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex")}`

/**
 * Problem of a request's signature; undefined for a valid one. A repeated header has a comma in its value, so it is never valid.
 */
export const signatureProblem = (
  headers: IncomingHttpHeaders,
  secret: string,
  body: Uint8Array,
  now: number
): string | undefined => {
  const [timestamp, signature] = [headers[TIMESTAMP], headers[SIGNATURE]]
  if (typeof timestamp !== "string" || typeof signature !== "string") return "not signed"
  if (!/^\d{1,11}$/.test(timestamp)) return "without a time"
  if (!isSameSecret(signature, slackSignature(timestamp, secret, body))) return "wrong signature"
  return Math.abs(Number(timestamp) * 1_000 - now) > WINDOW_MS ? "too old, or in the future" : undefined
}
