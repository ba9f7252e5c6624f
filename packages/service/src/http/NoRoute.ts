/**
 * Answer of a route that has nothing at an address: that of a missing route, with the same 404, and the same 405 for paths with another method.
 *
 * It is a defect, which the service turns into the answer: a failure would be a requirement of the program that mounts the routes.
 */
import { Effect } from "effect"
import { HttpServerError, HttpServerRequest } from "effect/http"

export const noRoute: Effect.Effect<never, never, HttpServerRequest.HttpServerRequest> = Effect.flatMap(
  HttpServerRequest.HttpServerRequest,
  (request) =>
    Effect.die(
      new HttpServerError.HttpServerError({ reason: new HttpServerError.RouteNotFound({ request }) })
    )
)
