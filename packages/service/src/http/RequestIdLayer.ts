/** The id of a request for its handlers: the one that the listener has put in its place. */
import type { RequestId } from "@corral/domain/Ids"
import { CurrentRequestId, RequestIds } from "@corral/domain/RequestContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"

export const requestIds = Layer.succeed(RequestIds, (handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.provideService(handler, CurrentRequestId, request.headers["x-request-id"] as RequestId)
  )
)
