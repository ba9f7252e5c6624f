/**
 * The id of a request for its handlers, and the trace that it is part of: the ones that the listener has put in their place. Where the
 * routes are mounted in another server, a request without a good id gets a new one.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { CurrentRequestId, RequestIds } from "@corral/domain/http/RequestContext"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import { Clock, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { mint } from "../Identifiers.ts"
import { CurrentTraceparent } from "../telemetry/Traces.ts"
import { sentRequestId } from "./RequestId.ts"

export const requestIds = Layer.effect(
  RequestIds,
  Effect.map(
    Clock.Clock,
    (clock) => (handler) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
        const id = sentRequestId(headers["x-request-id"])
        return handler.pipe(
          Effect.provideService(
            CurrentRequestId,
            id ?? mint<RequestId>("req", clock.currentTimeMillisUnsafe())
          ),
          Effect.provideService(CurrentTraceparent, traceparentOf(headers["traceparent"]))
        )
      })
  )
)
