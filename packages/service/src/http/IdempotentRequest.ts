/**
 * Requests with an idempotency key: their fingerprint, which does not depend on the order of keys in the request's JSON, and the mark of a response
 * that is repeated for the same key.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { type Context, Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"

/** Fingerprint of a request with an idempotency key. */
export const fingerprintOf = (request: unknown): string =>
  createHash("sha256")
    .update(
      JSON.stringify(request, (_, value: unknown) => (isJsonObject(value) ? sorted(value) : value)) ?? ""
    )
    .digest("base64url")

const sorted = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Mark of a response that is repeated for the same idempotency key. A call without an HTTP request has no response to mark. */
export const markReplayed = <A>(body: A, again: boolean): Effect.Effect<A> =>
  again
    ? Effect.contextWith((context: Context.Context<never>) => {
        HttpEffect.appendPreResponseHandlerUnsafe(context, (_, response) =>
          Effect.succeed(HttpServerResponse.setHeader(response, "Idempotency-Replayed", "true"))
        )
        return Effect.succeed(body)
      })
    : Effect.succeed(body)
