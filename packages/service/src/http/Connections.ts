/**
 * Path of a connection from Node's server to the routes of a service. Also the check of a WebSocket handshake.
 *
 * Guarantees: every response has a request id and the standard headers, and proxies pass every stream on as it arrives. A request or an upgrade that the service refuses is not routed. An
 * admitted upgrade is a WebSocket handshake.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import type { CrossOrigin } from "./CrossOrigin.ts"
import { isMetricsPage } from "./MetricsPage.ts"
import { type NodeExchange, nodeExchange } from "./NodeExchange.ts"
import { type HttpRefusal, refuseUnread, refuseUpgrade, standardHeaders } from "./Refusal.ts"
import type { RequestWatch } from "./RequestWatch.ts"

// Check that an upgrade is a WebSocket handshake (RFC 6455 §4.2.1). It runs before the library, whose refusal would have no error object.

const flaw = (path: string, message: string): HttpRefusal => ({
  code: "schema_validation_failed",
  details: { issues: [{ path, message }] }
})

/** What is wrong with the handshake; `undefined` if nothing is. */
export const handshakeProblem = ({ headers, method }: IncomingMessage): HttpRefusal | undefined => {
  if (method !== "GET") return { code: "method_not_allowed" }
  if (headers.upgrade?.toLowerCase() !== "websocket") return flaw("upgrade", "Expected websocket")
  if (headers["sec-websocket-version"] !== "13") return flaw("sec-websocket-version", "Expected 13")
  return /^[A-Za-z0-9+/]{22}==$/.test(headers["sec-websocket-key"] ?? "")
    ? undefined
    : flaw("sec-websocket-key", "Expected 16 bytes as base64")
}

// Responses that arrive in pieces, as proxies should pass them on: nginx collects a response before it forwards it, unless the response says otherwise.

/** A stream that asks proxies neither to collect it nor to change it, such as by compression. Any other response is unchanged. */
const unbuffered = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
  response.body._tag === "Stream"
    ? HttpServerResponse.setHeaders(response, {
        "x-accel-buffering": "no",
        "cache-control": `${response.headers["cache-control"] ?? "no-store"}, no-transform`
      })
    : response

export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  requestId: RequestId
) => void

/** What a service decides about its connections. */
export interface ConnectionHandlers {
  /** Templates of the served paths, for metrics and spans. */
  readonly paths: Iterable<string>
  /** Called first for each request and upgrade, before its headers are read. */
  readonly onArrival?: (request: IncomingMessage) => void
  /** Why a request or an upgrade is refused before it is routed: the rate limit, then the guard. */
  readonly refusalOf: (request: IncomingMessage, isUpgrade: boolean) => HttpRefusal | undefined
  /** What pages of other origins may do. Without it, their browsers let them read nothing. */
  readonly crossOrigin?: CrossOrigin
  /** Called for each request that is routed. */
  readonly onRouted?: (request: IncomingMessage, response: ServerResponse) => void
  /** Receives admitted upgrades. Without it, the service has none. */
  readonly onUpgrade?: UpgradeHandler
  /** Closes upgraded connections, which would keep the server open. Runs before the server stops. */
  readonly closeUpgraded?: Effect.Effect<void>
  /** Refusals for the defects that the service recognizes. */
  readonly refusalOfDefect?: (defect: unknown) => HttpRefusal | undefined
}

export interface ConnectionsOptions {
  readonly handlers: ConnectionHandlers
  /** The id that a request carries, or a new one. */
  readonly idOf: (request: IncomingMessage) => RequestId
  readonly watch: RequestWatch
  readonly serveMetrics: (
    exchange: NodeExchange,
    requestId: RequestId
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
}

export const makeConnections = ({ handlers, idOf, serveMetrics, watch }: ConnectionsOptions) => ({
  /** Prepares each request before the routes see it. */
  onRequest: (request: IncomingMessage, response: ServerResponse): void => {
    handlers.onArrival?.(request)
    watch.onRequest(request, response)
    const id = idOf(request)
    const headers = { ...standardHeaders(id), ...handlers.crossOrigin?.headersOf(request) }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    // The routes read this id and not what a client claimed.
    request.headers["x-request-id"] = id
  },

  /** The routes, for the requests that the service admits. */
  admitted: <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (routed) => {
      const exchange = nodeExchange(routed)
      const { request, response } = exchange
      const refusal = handlers.refusalOf(request, false)
      if (refusal !== undefined) return refuseUnread(response, refusal, idOf(request))
      watch.onPassed(request, response)
      const preflight = handlers.crossOrigin?.preflightOf(request)
      if (preflight !== undefined) return Effect.succeed(preflight)
      if (isMetricsPage(request.url)) return serveMetrics(exchange, idOf(request))
      handlers.onRouted?.(request, response)
      return Effect.map(app, unbuffered)
    }),

  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", () => undefined)
    handlers.onArrival?.(request)
    const id = idOf(request)
    request.headers["x-request-id"] = id
    const refusal = handlers.refusalOf(request, true) ?? handshakeProblem(request)
    if (refusal !== undefined) return refuseUpgrade(socket, refusal, id)
    if (handlers.onUpgrade === undefined) return refuseUpgrade(socket, { code: "not_found" }, id)
    handlers.onUpgrade(request, socket, head, id)
  }
})
