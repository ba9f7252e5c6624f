/**
 * The answer to a request that no handler answered: no such route, another method, a body that is no JSON or too large, a defect. A
 * defect is `internal` with nothing of its cause; the cause goes to the log.
 */
import { retryAfterSeconds } from "@corral/domain/errors/ErrorTable"
import type { RequestId } from "@corral/domain/identity/Ids"
import { Cause, Effect } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiGroup } from "effect/http-api"
import { type HttpRefusal, refusalBody } from "./Refusal.ts"

interface Route {
  readonly method: string
  readonly path: RegExp
}

const routesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<Route> => {
  const found: Array<Route> = []
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => {
      const path = new RegExp(`^${endpoint.path.replaceAll(/:[A-Za-z]+/g, "[^/]+")}$`)
      found.push({ method: endpoint.method, path })
    }
  })
  return found
}

/** The methods that are served at the path of a target. */
const methodsAt = (served: ReadonlyArray<Route>, target: string): ReadonlyArray<string> => {
  const path = target.split("?", 1)[0] ?? ""
  return served.filter((route) => route.path.test(path)).map((route) => route.method)
}

/** A path that is served for that method and yet was not routed cannot be read (a broken escape): there is nothing there. */
const notRouted = (methods: ReadonlyArray<string>, method: string): HttpRefusal => ({
  code: methods.length === 0 || methods.includes(method) ? "not_found" : "method_not_allowed"
})

const refusalOf = (error: unknown, methods: ReadonlyArray<string>, method: string): HttpRefusal => {
  // Reading a body fails as a defect of the library's handler.
  if (!(error instanceof HttpServerError.HttpServerError)) return { code: "internal" }
  const { reason } = error
  switch (reason._tag) {
    case "RouteNotFound":
      return notRouted(methods, method)
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

/**
 * Turns every cause but an interruption (the client has gone) into an answer. `known` maps the defects that a service
 * recognizes.
 */
export const answerUnanswered = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  known: (defect: unknown) => HttpRefusal | undefined = () => undefined
) => {
  const served = routesOf(api)
  return Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
    if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
    const request = yield* HttpServerRequest.HttpServerRequest
    const methods = methodsAt(served, request.url)
    const defect = Cause.squash(cause)
    const refusal = known(defect) ?? refusalOf(defect, methods, request.method)
    if (refusal.code === "internal") yield* Effect.logError("a request failed", cause)
    // The server put it there before it passed the request on.
    const { status, body } = refusalBody(refusal, request.headers["x-request-id"] as RequestId)
    const retryAfter = retryAfterSeconds[refusal.code]
    const headers = {
      ...(refusal.code === "method_not_allowed" ? { allow: methods.join(", ") } : {}),
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) })
    }
    return HttpServerResponse.text(body, { status, contentType: "application/json", headers })
  })
}
