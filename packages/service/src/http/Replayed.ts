/** Mark of a response that is repeated for the same idempotency key. */
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"

export const markReplayed = <A>(
  body: A,
  again: boolean
): Effect.Effect<A, never, HttpServerRequest.HttpServerRequest> =>
  again
    ? Effect.as(
        HttpEffect.appendPreResponseHandler((_, response) =>
          Effect.succeed(HttpServerResponse.setHeader(response, "Idempotency-Replayed", "true"))
        ),
        body
      )
    : Effect.succeed(body)
