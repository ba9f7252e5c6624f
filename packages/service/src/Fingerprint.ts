/** Fingerprint of a request with an idempotency key. It does not depend on the order of keys in the request's JSON. */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { createHash } from "node:crypto"

export const fingerprintOf = (request: unknown): string =>
  createHash("sha256")
    .update(
      JSON.stringify(request, (_, value: unknown) => (isJsonObject(value) ? sorted(value) : value)) ?? ""
    )
    .digest("base64url")

const sorted = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
