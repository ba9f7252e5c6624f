/**
 * Deadline of a request: a handler that has no answer by then is interrupted, and the request is answered with `overloaded`.
 *
 * Guarantees: the answer does not wait for the end of the handler, which may wait for a server that is gone. Does not: limit the body of a
 * response that has begun, so downloads and streams take as long as they need.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Fiber } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { mint } from "../Identifiers.ts"
import { exitWithin } from "./ExitWithin.ts"
import { headersOfRefusal, type HttpRefusal, refusalBody, standardHeaders } from "./Refusal.ts"
import { sentRequestId } from "./RequestId.ts"

const refusalAfter = (isWrite: boolean): HttpRefusal => ({
  code: "overloaded",
  message: isWrite
    ? "The request took too long and was ended. Whether it had an effect is unknown. Repeat it with the same Idempotency-Key."
    : "The request took too long and was ended. Try again shortly."
})

/** `deadlineMsOf` gives milliseconds for a route's method and path template; `undefined` for a route without a deadline. */
export const requestDeadlines = (deadlineMsOf: (method: string, path: string) => number | undefined) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      return (handler) =>
        Effect.gen(function* () {
          const { route } = yield* HttpRouter.RouteContext
          const request = yield* HttpServerRequest.HttpServerRequest
          const deadline = deadlineMsOf(request.method, route.path)
          if (deadline === undefined) return yield* handler
          const fiber = yield* Effect.forkDetach(handler, { startImmediately: true })
          const exit = yield* Effect.onInterrupt(exitWithin(fiber, deadline), () => Fiber.interrupt(fiber))
          if (exit !== undefined) return yield* exit
          yield* Effect.forkDetach(Fiber.interrupt(fiber))
          const { method } = request
          yield* Effect.logWarning("a request was ended at its deadline", { method, route: route.path })
          const id =
            sentRequestId(request.headers["x-request-id"]) ??
            mint<RequestId>("req", clock.currentTimeMillisUnsafe())
          const refusal = refusalAfter(method !== "GET" && method !== "HEAD")
          const { body, status } = refusalBody(refusal, id)
          return HttpServerResponse.text(body, {
            status,
            contentType: "application/json",
            headers: { ...standardHeaders(id), ...headersOfRefusal(refusal) }
          })
        })
    })
  ).layer
