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
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { type AnsweringOptions, makeAnswering, requestIdentifier } from "./Answering.ts"
import { BACKLOG, createNodeServer, holdEarlyConnections } from "./NodeServer.ts"
import { limitBodies } from "./RequestGuard.ts"

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
