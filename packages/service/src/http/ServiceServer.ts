/**
 * HTTP server of a service: Effect's `HttpServer` over Node's, with the service's guard before the routes. A service serves its routes with
 * `HttpRouter.serve` over this layer. A program that mounts them has its own `NodeHttpServer.layer` instead.
 *
 * Guarantees: refused requests, unknown routes and defects get an error object. Every request is counted, and traced where there is a
 * collector. Requests that arrive before the routes are ready wait for them. On stop, upgraded connections close first, then requests in
 * progress are answered.
 *
 * Does not: route upgrades (ADR 37), or verify credentials.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { Clock, Context, Data, Effect, Layer, type Scope } from "effect"
import { HttpServer } from "effect/http"
import type { HttpApiGroup } from "effect/http-api"
import { type IncomingMessage, type Server, ServerResponse, createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { type AnsweringOptions, makeAnswering, requestIdentifier } from "./Answering.ts"
import { limitBodies } from "./RequestGuard.ts"
import { STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { Duplex } from "node:stream"
import { answerClientErrors } from "./ClientErrors.ts"
import { dropStalledResponses } from "./StalledResponses.ts"

// Node's HTTP server as all services use it.
//
// Guarantees: limits on the time and size of requests, an answer to malformed requests, an end to stalled responses.

// Response whose headers and body are one write to the socket.
//
// Effect sets `strictContentLength` on each response. Node then compares the length of the body with its header and sends an empty last chunk,
// so that each answer is two buffers and a slower call of the system (`writev`; measurements in ADR 40). Bodies are complete when Effect
// writes them, and their header is their length, so the comparison finds nothing.

class OneWriteResponse extends ServerResponse {}

// Before the constructor of Node assigns the property: an assignment then calls the setter and makes no property of the response.
Object.defineProperty(OneWriteResponse.prototype, "strictContentLength", { get: () => false, set: () => {} })

/**
 * Length of the system's queue of connections that are not accepted yet; the system may allow fewer. Two thousand connections at once
 * overflow Node's default of 511. The system then drops their packets, and clients wait a second or more before they send them again.
 */
const BACKLOG = 4_096

/**
 * How long an idle connection stays open after its last response: longer than at a proxy, which for Caddy is 120 s and for nginx 60 s. A request that a proxy sends
 * in the moment in which the service closes is lost: the proxy answers 502. Measured with Caddy, with pauses around Node's default of 5 s and its
 * margin of 1 s: 2 of 1,607.
 */
const IDLE_CONNECTION_MS = 130_000

const createNodeServer = (options: {
  readonly now: () => number
  /** Id of an answer, with or without a request. */
  readonly idOf: (request?: IncomingMessage) => RequestId
}): Server => {
  const server = createServer({
    ServerResponse: OneWriteResponse,
    maxHeaderSize: 16_384,
    headersTimeout: 5_000,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    requestTimeout: STALLED_AFTER_SECONDS * 1_000,
    // The guard refuses a request without a Host, with an error object.
    requireHostHeader: false,
    connectionsCheckingInterval: 2_500
  })
  answerClientErrors(server, options.idOf)
  dropStalledResponses(server, options.now)
  return server
}

/** Holds requests and upgrades that arrive before the routes are ready. The returned function hands them over. */
const holdEarlyConnections = (server: Server): (() => void) => {
  const held: Array<() => void> = []
  const holdRequest = (request: IncomingMessage, response: ServerResponse) =>
    void held.push(() => server.emit("request", request, response))
  const holdUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    void held.push(() => server.emit("upgrade", request, socket, head))
  server.on("request", holdRequest).on("upgrade", holdUpgrade)
  return () => {
    server.off("request", holdRequest).off("upgrade", holdUpgrade)
    for (const release of held) release()
  }
}

/** The address is in use, or not an address of this machine. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly message: string }> {}

export interface ServiceServerOptions<
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  R1,
  R2
> extends AnsweringOptions<Id, Groups, R1, R2> {
  readonly address: { readonly host: string; readonly port: number }
}

/** `http://127.0.0.1:8080`, with the brackets that an IPv6 address needs. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** Time for responses in progress when the server stops. A client that does not read does not get more. */
const SHUTDOWN_MS = 500

const limitShutdown = (node: Server) =>
  Effect.sync(() => void setTimeout(() => node.closeAllConnections(), SHUTDOWN_MS).unref())

/** The same context in one map: requests add to it without a copy. */
const flat = (context: Context.Context<Scope.Scope>) => Context.makeUnsafe<Scope.Scope>(context.mapUnsafe)

const listenFailed = ({ host, port }: { readonly host: string; readonly port: number }, cause: unknown) => {
  const isInUse = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new ListenFailed({
    message: isInUse
      ? `${urlOf(host, port)} is in use by another program. Stop it, or choose another port.`
      : `cannot listen at ${urlOf(host, port)}: ${reason}`
  })
}

/** Listens until the scope closes. */
const listen = Effect.fnUntraced(function* (
  node: Server,
  address: ServiceServerOptions<never, never, never, never>["address"]
) {
  const http = yield* NodeHttpServer.make(() => node, { ...address, backlog: BACKLOG }).pipe(
    Effect.mapError(({ cause }) => listenFailed(address, cause))
  )
  // The routes are gone. What is still held or open gets no answer.
  yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
  const run = Effect.runForkWith(yield* Effect.context<never>())
  node.on("error", (cause) => run(Effect.logError("failed to accept a connection", { cause })))
  return http
})

const make = Effect.fnUntraced(function* <Id extends string, Groups extends HttpApiGroup.Constraint, R1, R2>({
  address,
  ...service
}: ServiceServerOptions<Id, Groups, R1, R2>) {
  const clock = yield* Clock.Clock
  const node = createNodeServer({
    now: () => clock.currentTimeMillisUnsafe(),
    idOf: yield* requestIdentifier
  })
  const releaseEarly = holdEarlyConnections(node)
  const http = yield* listen(node, address)

  const { port } = node.address() as AddressInfo
  const { admitted, closeUpgraded, guarded, onRequest, onUpgrade, unanswered } = yield* makeAnswering(
    service,
    { url: urlOf(address.host, port), port, path: "" }
  )

  const takeConnections = Effect.fnUntraced(function* (serving: Effect.Effect<void, never, Scope.Scope>) {
    // After a turn of the scheduler, the next steps run without a break: no request arrives between them.
    yield* Effect.yieldNow
    node.on("request", onRequest)
    yield* limitBodies(Effect.updateContext(serving, flat))
    // Effect would route upgrades, and take requests with `Expect: 100-continue` past the listeners of "request".
    node.removeAllListeners("checkContinue").removeAllListeners("upgrade").on("upgrade", onUpgrade)
    releaseEarly()
    yield* Effect.addFinalizer(() => limitShutdown(node))
    yield* Effect.addFinalizer(() => closeUpgraded)
  })
  const server = HttpServer.make({
    address: http.address,
    // By Effect's contract of `serve`, routes and middleware may fail in any way.
    // @effect-diagnostics-next-line anyUnknownInErrorContext:off
    serve: (app, middleware) => {
      // @effect-diagnostics-next-line anyUnknownInErrorContext:off
      const answered = admitted(Effect.catchCause(app, unanswered))
      if (middleware === undefined) return takeConnections(http.serve(answered))
      // @effect-diagnostics-next-line anyUnknownInErrorContext:off
      return takeConnections(http.serve(answered, middleware))
    }
  })
  return Context.add(guarded, HttpServer.HttpServer, server)
})

export const serviceServerLayer = <Id extends string, Groups extends HttpApiGroup.Constraint, R1, R2>(
  options: ServiceServerOptions<Id, Groups, R1, R2>
) => Layer.effectContext(make(options))
