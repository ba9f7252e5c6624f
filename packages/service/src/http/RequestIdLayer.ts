/**
 * Id of a request and its trace, for handlers. The service's own server has set both. In another program's server, a request without a
 * valid id gets a new one.
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
