/**
 * Deadline of a request: a handler that has no answer by then is interrupted, and the request is answered with `overloaded`.
 *
 * Guarantees: the answer does not wait for the end of the handler, which may wait for a server that is gone. A request in time costs a timer and an
 * observer; a timeout of Effect would start two fibers for each.
 * Does not: limit the body of a response that has begun, so downloads and streams take as long as they need.
 */
import { nodeExchange } from "./NodeExchange.ts"
import { type HttpRefusal, refusalBody, refusalHeaders } from "./Refusal.ts"
import type { RequestId } from "@corral/domain/identity/Ids"
import { Context, Effect, type Exit, type Fiber } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { ServerResponse } from "node:http"

const refusalAfter = (isWrite: boolean): HttpRefusal => ({
  code: "overloaded",
  message: isWrite
    ? "The request took too long and was ended. Whether it had an effect is unknown. Repeat it with the same Idempotency-Key."
    : "The request took too long and was ended. Try again shortly."
})

/** Answers on the socket, next to the standard headers, which the server has set. What the handler returns later is not sent. */
const refuseLate = (response: ServerResponse, method: string, id: RequestId): void => {
  if (response.headersSent) return
  const refusal = refusalAfter(method !== "GET" && method !== "HEAD")
  const { body, status } = refusalBody(refusal, id)
  response.writeHead(status, refusalHeaders(refusal, body)).end(method === "HEAD" ? undefined : body)
}

/** `deadlineMsOf` gives milliseconds for a route's method and path template; `undefined` for a route without a deadline. */
export const requestDeadlines = (deadlineMsOf: (method: string, path: string) => number | undefined) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const end = (
        request: HttpServerRequest.HttpServerRequest,
        route: string,
        fiber: Fiber.Fiber<unknown, unknown>
      ) => {
        const { headers, method } = request
        // The server has set the id.
        refuseLate(nodeExchange(request).response, method, headers["x-request-id"] as RequestId)
        fiber.interruptUnsafe()
        run(Effect.logWarning("a request was ended at its deadline", { method, route }))
      }
      // One step for each request: this runs for all of them.
      return (handler) =>
        Effect.withFiber((fiber) => {
          const { route } = Context.get(
            fiber.context as Context.Context<HttpRouter.RouteContext>,
            HttpRouter.RouteContext
          )
          const request = Context.get(
            fiber.context as Context.Context<HttpServerRequest.HttpServerRequest>,
            HttpServerRequest.HttpServerRequest
          )
          const deadline = deadlineMsOf(request.method, route.path)
          if (deadline === undefined) return handler
          const timer = setTimeout(() => end(request, route.path, fiber), deadline)
          return Effect.onExit(handler, () => {
            clearTimeout(timer)
            return Effect.void
          })
        })
    })
  ).layer

/** Exit of a fiber, or `undefined` after `millis`. */
export const exitWithin = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  millis: number
): Effect.Effect<Exit.Exit<A, E> | undefined> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.undefined), Math.max(0, millis))
    const removeObserver = fiber.addObserver((exit) => {
      clearTimeout(timer)
      resume(Effect.succeed(exit))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      removeObserver()
    })
  })
