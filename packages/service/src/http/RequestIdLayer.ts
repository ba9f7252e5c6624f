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
import type { IncomingHttpHeaders } from "node:http"

// Correlation id that a caller may send.

const shape = /^[A-Za-z0-9._-]{1,128}$/

/** The caller's id, if it is valid. */
export const sentRequestId = (id: unknown): RequestId | undefined =>
  typeof id === "string" && shape.test(id) ? (id as RequestId) : undefined

/** The id that a request carries: the caller's, or the one that the server has set. */
export const requestIdOf = (headers: IncomingHttpHeaders): RequestId | undefined =>
  sentRequestId(headers["x-request-id"])

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
