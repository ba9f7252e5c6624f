/** What a keyed request is bound to: the same request has the same fingerprint whatever the order of its keys. */
import { createHash } from "node:crypto"

export const fingerprintOf = (request: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(request, (_, value: unknown) => (isObject(value) ? sorted(value) : value)) ?? "")
    .digest("base64url")

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const sorted = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
