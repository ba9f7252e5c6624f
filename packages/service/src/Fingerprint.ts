/** Fingerprint of a request with an idempotency key. It does not depend on the order of keys in the request's JSON. */
import { createHash } from "node:crypto"

export const fingerprintOf = (request: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(request, (_, value: unknown) => (isObject(value) ? sorted(value) : value)) ?? "")
    .digest("base64url")

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const sorted = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
