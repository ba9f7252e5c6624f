/** The id of a request for its handlers, and the trace that it is part of: the ones that the listener has put in their place. */
import type { RequestId } from "@corral/domain/Ids"
import { CurrentRequestId, RequestIds } from "@corral/domain/RequestContext"
import { traceparentOf } from "@corral/domain/TraceContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { CurrentTraceparent } from "../telemetry/Traces.ts"

export const requestIds = Layer.succeed(RequestIds, (handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    handler.pipe(
      Effect.provideService(CurrentRequestId, headers["x-request-id"] as RequestId),
      Effect.provideService(CurrentTraceparent, traceparentOf(headers["traceparent"]))
    )
  )
)
