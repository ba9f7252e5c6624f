/**
 * Response to a request that no handler has answered: an unknown route, another method, a body that is not JSON or too large, a defect. A defect
 * becomes `internal` without its cause, which is logged. Also the endpoints of a contract, for what it names.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Cause, Effect } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { DOCUMENT_PATHS } from "./ServiceDocuments.ts"
import { type HttpRefusal, headersOfRefusal, refusalBody } from "./Refusal.ts"

// Endpoints of a contract, without the schemas of their responses, which `HttpApi.reflect` would collect in milliseconds of a start.

export const endpointsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<HttpApiEndpoint.Top> => {
  const found: Array<HttpApiEndpoint.Top> = []
  HttpApi.reflect(api, {
    // Schemas are collected after it, for the endpoints that it selects.
    predicate: ({ endpoint }) => {
      found.push(endpoint)
      return false
    },
    onGroup: () => undefined,
    onEndpoint: () => undefined
  })
  return found
}

/** Path templates of a contract. */
export const endpointPaths = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<string> => endpointsOf(api).map(({ path }) => path)

interface Route {
  readonly method: string
  readonly path: RegExp
}

const routesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<Route> =>
  endpointsOf(api).map(({ method, path }) => ({
    method,
    path: new RegExp(`^${path.replaceAll(/:[A-Za-z]+/g, "[^/]+")}$`)
  }))

/** Every service serves them. */
const documents: ReadonlyArray<Route> = DOCUMENT_PATHS.map((path) => ({
  method: "GET",
  path: new RegExp(`^${path.replace(".", "[.]")}$`)
}))

/** Methods of the path of a target, as a function of the target. */
export const methodsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ((target: string) => ReadonlyArray<string>) => {
  const served = [...routesOf(api), ...documents]
  return (target) => {
    const path = target.split("?", 1)[0] ?? ""
    return served.filter((route) => route.path.test(path)).map((route) => route.method)
  }
}

/** `not_found` also for a known path that was not routed: it contains an invalid escape. */
const notRouted = (methods: ReadonlyArray<string>, method: string): HttpRefusal =>
  methods.length === 0 || methods.includes(method)
    ? { code: "not_found" }
    : { code: "method_not_allowed", allow: methods }

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

/** The refusal of the first recognized defect. A refusal whose transaction could not be rolled back is a defect next to the reason of that. */
const recognizedIn = (
  { reasons }: Cause.Cause<unknown>,
  refusalOfDefect: (defect: unknown) => HttpRefusal | undefined
): HttpRefusal | undefined => {
  for (const reason of reasons) {
    const refusal = reason._tag === "Die" ? refusalOfDefect(reason.defect) : undefined
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/**
 * Turns every cause but an interruption (the client has gone) into an answer. `refusalOfDefect` maps the defects that a service
 * recognizes.
 */
export const answerUnanswered = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  refusalOfDefect: (defect: unknown) => HttpRefusal | undefined = () => undefined
) => {
  const methodsAt = methodsOf(api)
  return Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
    if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
    const request = yield* HttpServerRequest.HttpServerRequest
    const methods = methodsAt(request.url)
    const refusal =
      recognizedIn(cause, refusalOfDefect) ?? refusalOf(Cause.squash(cause), methods, request.method)
    if (refusal.code === "internal") yield* Effect.logError("a request failed", cause)
    // The server has set it.
    const { status, body } = refusalBody(refusal, request.headers["x-request-id"] as RequestId)
    const headers = headersOfRefusal(refusal)
    return HttpServerResponse.text(body, { status, contentType: "application/json", headers })
  })
}
