/**
 * Checks of a request and of an upgrade before a route sees them. One mechanism; a `RequestPolicy` says what differs between services.
 *
 * Guarantees: `guardedRoutes` keeps the checks with the routes, so a router of another program refuses what the service's own server
 * refuses. A request that the service's own server has admitted is not checked again.
 *
 * Does not: verify credentials, which the contract's middleware does, or limit rates.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import {
  ACCEPTED_FILES,
  attachmentMediaTypeOf,
  MAX_ATTACHMENT_BYTES
} from "@corral/domain/session/AttachmentRules"
import { ByteSize, Clock, Context, Effect } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { IncomingMessage } from "node:http"
import { mint } from "../Identifiers.ts"
import { type HttpRefusal, refusalBody, headersOfRefusal, standardHeaders } from "./Refusal.ts"
import { sentRequestId } from "./RequestIdLayer.ts"

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

/** Names of a service that is reached at these origins. */
export const namesOfOrigins = (origins: ReadonlyArray<string>): ServiceNames => ({
  origins: new Set(origins),
  hosts: new Set(origins.map((origin) => new URL(origin).host))
})

/** Hosts of a service that listens on this port of loopback. */
export const loopbackHosts = (port: number): ReadonlyArray<string> =>
  ["127.0.0.1", "localhost", "[::1]"].map((host) => `${host}:${port}`)

export interface RequestPolicy {
  /** Absent: any Host and Origin, for a service whose requests are authenticated by their bodies. */
  readonly names?: ServiceNames
  /** Whether a request from another site's page is allowed although browsers mark it as one. */
  readonly allowsCrossSite?: (head: RequestHead) => boolean
  /** Checks of this service alone, such as CSRF. They run after the checks of names, before those of the body. */
  readonly refusalOf?: (head: RequestHead) => HttpRefusal | undefined
  /** Kind of the body that is expected at a path; JSON by default. */
  readonly bodyKindAt?: (path: string) => BodyKind
  /** Maximum size of a body at a path; by default that of its kind. */
  readonly maxBytesAt?: (path: string) => number | undefined
  /** Whether a request at a path needs a media type although its body is empty. */
  readonly requiresBodyAt?: (path: string) => boolean
}

/** `file`: the endpoint reads a file of accepted types, as a stream. */
export type BodyKind = "json" | "form" | "file"

interface BodyRule {
  readonly accepts: (contentType: string) => boolean
  readonly maxBytes: number
  /** What to send instead. */
  readonly message?: string
}

const matching = (mediaType: RegExp) => (contentType: string) => mediaType.test(contentType)

const bodyRules: Readonly<Record<BodyKind, BodyRule>> = {
  json: { accepts: matching(/^application\/json\s*(;|$)/i), maxBytes: MAX_REQUEST_BYTES },
  form: { accepts: matching(/^application\/x-www-form-urlencoded\s*(;|$)/i), maxBytes: MAX_REQUEST_BYTES },
  file: {
    accepts: (contentType) => attachmentMediaTypeOf(contentType) !== undefined,
    maxBytes: MAX_ATTACHMENT_BYTES,
    message: ACCEPTED_FILES
  }
}

/** A header that may come once; `undefined` for none or several. */
export const headerOf = ({ headers }: Pick<RequestHead, "headers">, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}

/** Path of a target, without the query. */
export const pathOfTarget = (target: string): string => {
  const end = target.indexOf("?")
  return end === -1 ? target : target.slice(0, end)
}

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

const refusalOfBody = (head: RequestHead, policy: RequestPolicy): HttpRefusal | undefined => {
  const { bodyKindAt, maxBytesAt, requiresBodyAt } = policy
  const length = Number(headerOf(head, "content-length") ?? 0)
  const isEmpty = length === 0 && headerOf(head, "transfer-encoding") === undefined
  if (isEmpty && requiresBodyAt === undefined) return undefined
  const path = pathOfTarget(head.target)
  if (isEmpty && requiresBodyAt?.(path) !== true) return undefined
  const { accepts, maxBytes, message } = bodyRules[bodyKindAt?.(path) ?? "json"]
  if (length > (maxBytesAt?.(path) ?? maxBytes)) return { code: "payload_too_large" }
  return accepts(headerOf(head, "content-type") ?? "")
    ? undefined
    : { code: "unsupported_media_type", message }
}

/** Applies a policy. Pure. */
export const checkRequest = (head: RequestHead, policy: RequestPolicy): HttpRefusal | undefined =>
  (policy.names && refusalOfNames(head, policy.names, policy.allowsCrossSite?.(head) ?? false)) ??
  policy.refusalOf?.(head) ??
  refusalOfBody(head, policy)

const countHosts = (rawHeaders: ReadonlyArray<string>): number => {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length === 4 && name.toLowerCase() === "host") count++
  }
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
 * to be one gets the stricter checks of a request. Routers shorten an absolute target to its path; the policy reads it as sent.
 */
const headOfRouted = ({ headers, method, source, url }: HttpServerRequest.HttpServerRequest): RequestHead => {
  const message = source instanceof IncomingMessage ? source : undefined
  const sent = message?.url ?? url
  return {
    method,
    target: sent.startsWith("/") ? url : sent,
    headers,
    hostCount: message === undefined ? 1 : countHosts(message.rawHeaders),
    isUpgrade: false
  }
}

export interface Guard {
  /** Whether the service's own server has admitted a request. */
  readonly isAdmitted: (request: HttpServerRequest.HttpServerRequest) => boolean
  /** Checks a request where the service's own server receives it. */
  readonly refusalOfMessage: (request: IncomingMessage, isUpgrade: boolean) => HttpRefusal | undefined
  /** Checks a request where it is routed, unless the service's own server admitted it. */
  readonly refusalOfRouted: (request: HttpServerRequest.HttpServerRequest) => HttpRefusal | undefined
}

/** Guard of the routes. */
export class RequestGuard extends Context.Service<RequestGuard, Guard>()("corral/service/RequestGuard") {
  static readonly make = (policy: RequestPolicy): Guard => {
    // A mark on the request: a weak set of every request costs the garbage collector more.
    const admitted = Symbol("admitted")
    return {
      refusalOfMessage: (request, isUpgrade) => {
        const refusal = checkRequest(headOfMessage(request, isUpgrade), policy)
        if (refusal === undefined) Reflect.set(request, admitted, true)
        return refusal
      },
      isAdmitted: (request) => Reflect.has(request.source, admitted),
      refusalOfRouted: (request) =>
        Reflect.has(request.source, admitted) ? undefined : checkRequest(headOfRouted(request), policy)
    }
  }
}

/** Limits the bodies that an effect reads, of unknown length too. */
export const limitBodies = Effect.provideService(
  HttpIncomingMessage.MaxBodySize,
  ByteSize.bytes(MAX_REQUEST_BYTES)
)

/**
 * Middleware of routes. It answers a refused request before anything of it is decoded, with the error object of the service's server. A
 * request that the service's own server has admitted is not checked again.
 */
export const guardedRoutes = HttpRouter.middleware(
  Effect.gen(function* () {
    const guard = yield* RequestGuard
    const clock = yield* Clock.Clock
    return (handler) => {
      const limited = limitBodies(handler)
      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        if (guard.isAdmitted(request)) return handler
        const refusal = guard.refusalOfRouted(request)
        if (refusal === undefined) return limited
        const id =
          sentRequestId(request.headers["x-request-id"]) ??
          mint<RequestId>("req", clock.currentTimeMillisUnsafe())
        const { body, status } = refusalBody(refusal, id)
        const response = HttpServerResponse.text(body, {
          status,
          contentType: "application/json",
          headers: { ...standardHeaders(id), ...headersOfRefusal(refusal) }
        })
        return Effect.succeed(response)
      })
    }
  })
).layer
