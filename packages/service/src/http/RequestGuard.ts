/**
 * Checks of a request and of an upgrade before a route sees them. One mechanism; a `RequestPolicy` says what differs between services.
 *
 * Guarantees: `guardedRoutes` keeps the checks with the routes, so a router of another program refuses what the service's own server
 * refuses. A request that the service's own server has admitted is not checked again.
 *
 * Does not: verify credentials, which the contract's middleware does, or limit rates.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { IncomingMessage } from "node:http"
import { mint } from "../Identifiers.ts"
import { type HttpRefusal, refusalBody, headersOfCode, standardHeaders } from "./Refusal.ts"
import { sentRequestId } from "./RequestId.ts"

/** Largest request body that a service reads. */
export const MAX_REQUEST_BYTES = 1_048_576

/** The part of a request that policies read. Header names are in lower case. */
export interface RequestHead {
  readonly method: string
  /** As sent: path and query, or an absolute form, which no policy allows. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Number of Host headers. */
  readonly hostCount: number
  readonly isUpgrade: boolean
}

/** Names under which browsers and programs reach a service. */
export interface ServiceNames {
  /** Values of Host, with the port. */
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
}

export interface RequestPolicy {
  /** Absent: any Host and Origin, for a service whose requests are authenticated by their bodies. */
  readonly names?: ServiceNames
  /** Whether a request from another site's page is allowed although browsers mark it as one. */
  readonly allowsCrossSite?: (head: RequestHead) => boolean
  /** Checks of this service alone, such as CSRF. They run after the checks of names, before those of the body. */
  readonly refusalOf?: (head: RequestHead) => HttpRefusal | undefined
  /** Kind of the body that is expected at a path; JSON by default. */
  readonly bodyKindAt?: (path: string) => "json" | "form"
}

const bodyKinds = {
  json: /^application\/json\s*(;|$)/i,
  form: /^application\/x-www-form-urlencoded\s*(;|$)/i
}

/** A header that may come once; `undefined` for none or several. */
export const headerOf = ({ headers }: Pick<RequestHead, "headers">, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}

/** Path of a target, without the query. */
export const pathOfTarget = (target: string): string => target.split("?", 1)[0] ?? ""

const refusalOfNames = (
  head: RequestHead,
  { hosts, origins }: ServiceNames,
  allowsCrossSite: boolean
): HttpRefusal | undefined => {
  const deny = (message: string): HttpRefusal => ({ code: "permission_denied", message })
  if (head.hostCount !== 1 || !hosts.has(headerOf(head, "host") ?? ""))
    return deny("The Host header names another server.")
  if (!head.target.startsWith("/")) return deny("The request target names another server.")
  const origin = headerOf(head, "origin")
  if (origin !== undefined && !origins.has(origin)) return deny("Requests from this Origin are not allowed.")
  const site = headerOf(head, "sec-fetch-site")
  const isCrossSite = site !== undefined && site !== "same-origin" && site !== "none"
  return isCrossSite && !allowsCrossSite ? deny("Cross-site requests are not allowed.") : undefined
}

const refusalOfBody = (head: RequestHead, kind: keyof typeof bodyKinds): HttpRefusal | undefined => {
  const length = Number(headerOf(head, "content-length") ?? 0)
  if (length === 0 && headerOf(head, "transfer-encoding") === undefined) return undefined
  if (length > MAX_REQUEST_BYTES) return { code: "payload_too_large" }
  return bodyKinds[kind].test(headerOf(head, "content-type") ?? "")
    ? undefined
    : { code: "unsupported_media_type" }
}

/** Applies a policy. Pure. */
export const checkRequest = (head: RequestHead, policy: RequestPolicy): HttpRefusal | undefined =>
  (policy.names && refusalOfNames(head, policy.names, policy.allowsCrossSite?.(head) ?? false)) ??
  policy.refusalOf?.(head) ??
  refusalOfBody(head, policy.bodyKindAt?.(pathOfTarget(head.target)) ?? "json")

const countHosts = (rawHeaders: ReadonlyArray<string>): number => {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === "host") count++
  return count
}

/** Head of a request as Node's server delivers it. */
export const headOfMessage = (request: IncomingMessage, isUpgrade: boolean): RequestHead => ({
  method: request.method ?? "",
  target: request.url ?? "",
  headers: request.headers,
  hostCount: countHosts(request.rawHeaders),
  isUpgrade
})

/**
 * Head of a request as a router delivers it. A request that is not Node's own has each header once. An upgrade is not routed: what claims
 * to be one gets the stricter checks of a request.
 */
const headOfRouted = ({
  headers,
  method,
  source,
  url
}: HttpServerRequest.HttpServerRequest): RequestHead => ({
  method,
  target: url,
  headers,
  hostCount: source instanceof IncomingMessage ? countHosts(source.rawHeaders) : 1,
  isUpgrade: false
})

export interface Guard {
  /** Checks a request where the service's own server receives it. */
  readonly refusalOfMessage: (request: IncomingMessage, isUpgrade: boolean) => HttpRefusal | undefined
  /** Checks a request where it is routed, unless the service's own server admitted it. */
  readonly refusalOfRouted: (request: HttpServerRequest.HttpServerRequest) => HttpRefusal | undefined
}

/** Guard of the routes, available once the names of the service are known. */
export class RequestGuard extends Context.Service<RequestGuard, Effect.Effect<Guard>>()(
  "corral/service/RequestGuard"
) {
  static readonly make = (policy: RequestPolicy): Guard => {
    const admitted = new WeakSet<object>()
    return {
      refusalOfMessage: (request, isUpgrade) => {
        const refusal = checkRequest(headOfMessage(request, isUpgrade), policy)
        if (refusal === undefined) admitted.add(request)
        return refusal
      },
      refusalOfRouted: (request) =>
        admitted.has(request.source) ? undefined : checkRequest(headOfRouted(request), policy)
    }
  }
}

/** Middleware of routes. It answers a refused request before anything of it is decoded, with the error object of the service's server. */
export const guardedRoutes = HttpRouter.middleware(
  Effect.gen(function* () {
    const guardOnceKnown = yield* RequestGuard
    const clock = yield* Clock.Clock
    return (handler) =>
      Effect.gen(function* () {
        const guard = yield* guardOnceKnown
        const request = yield* HttpServerRequest.HttpServerRequest
        const refusal = guard.refusalOfRouted(request)
        if (refusal === undefined) return yield* handler
        const id =
          sentRequestId(request.headers["x-request-id"]) ??
          mint<RequestId>("req", clock.currentTimeMillisUnsafe())
        const { body, status } = refusalBody(refusal, id)
        return HttpServerResponse.text(body, {
          status,
          contentType: "application/json",
          headers: { ...standardHeaders(id), ...headersOfCode(refusal) }
        })
      })
  })
).layer
