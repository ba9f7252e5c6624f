/**
 * The answer to a request that no handler answered: no such route, another method, a body that is no JSON or too large, a defect. A
 * defect is `internal` with nothing of its cause; the cause goes to the log.
 */
import { EdgeApi } from "@corral/domain/EdgeApi"
import type { RequestId } from "@corral/domain/Ids"
import { Cause, Effect } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { type Refusal, refusalBody } from "./Refusal.ts"

interface Route {
  readonly method: string
  readonly path: RegExp
}

const served: ReadonlyArray<Route> = (() => {
  const found: Array<Route> = []
  HttpApi.reflect(EdgeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => {
      const path = new RegExp(`^${endpoint.path.replaceAll(/:[A-Za-z]+/g, "[^/]+")}$`)
      found.push({ method: endpoint.method, path })
    }
  })
  return found
})()

/** The methods that are served at the path of a target. */
const methodsAt = (target: string): ReadonlyArray<string> => {
  const path = target.split("?", 1)[0] ?? ""
  return served.filter((route) => route.path.test(path)).map((route) => route.method)
}

/** A path that is served for that method and yet was not routed cannot be read (a broken escape): there is nothing there. */
const notRouted = (method: string, target: string): Refusal => {
  const methods = methodsAt(target)
  return { code: methods.length === 0 || methods.includes(method) ? "not_found" : "method_not_allowed" }
}

const refusalOf = (cause: Cause.Cause<unknown>, method: string, target: string): Refusal => {
  // Reading a body fails as a defect of the library's handler.
  const error = Cause.squash(cause)
  if (!(error instanceof HttpServerError.HttpServerError)) return { code: "internal" }
  const { reason } = error
  switch (reason._tag) {
    case "RouteNotFound":
      return notRouted(method, target)
    case "RequestParseError":
      return reason.reason === "BodyTooLarge"
        ? { code: "payload_too_large" }
        : {
            code: "schema_validation_failed",
            details: { issues: [{ path: "", message: "Expected a JSON body" }] }
          }
    default:
      return { code: "internal" }
  }
}

/** Turns every cause but an interruption (the client has gone) into an answer. */
export const answerUnanswered = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
  const request = yield* HttpServerRequest.HttpServerRequest
  const refusal = refusalOf(cause, request.method, request.url)
  if (refusal.code === "internal") yield* Effect.logError("a request failed", cause)
  // The server put it there before it passed the request on.
  const { status, body } = refusalBody(refusal, request.headers["x-request-id"] as RequestId)
  const allow = refusal.code === "method_not_allowed" ? { allow: methodsAt(request.url).join(", ") } : {}
  return HttpServerResponse.text(body, { status, contentType: "application/json", headers: allow })
})
