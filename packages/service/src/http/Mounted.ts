/**
 * A service below a path of another program's HTTP server (ADR 110).
 *
 * Guarantees: everything of the service is below the path: endpoints, health, the metrics page, upgrades. They are checked, limited and
 * answered as at the service's own server. The routes of the program win over the service's, and no request outside the path reaches the service.
 * When the server stops listening, upgraded connections end, then responses that are still in progress.
 *
 * Does not: limit the time and size of requests before their head is read, which the program's server does. A client that sends frames before
 * its upgrade is accepted, which the protocol forbids, loses them.
 */
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Context, Data, Effect, Layer, Schedule, Scope } from "effect"
import { Headers, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { HttpApiGroup } from "effect/http-api"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { type AnsweringOptions, makeAnswering, type ServiceAddress } from "./Answering.ts"
import { nodeExchange } from "./NodeExchange.ts"
import { limitBodies } from "./RequestGuard.ts"

/** The path cannot be used, or another service of this server has it. */
export class MountFailed extends Data.TaggedError("MountFailed")<{ readonly message: string }> {}

export interface MountOptions<
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  E,
  R,
  R1,
  R2
> extends AnsweringOptions<Id, Groups, R1, R2> {
  /** `/` or a path such as `/agents/edge`. */
  readonly path: string
  readonly routes: Layer.Layer<never, E, R>
}

/** Segments without escapes, so that one path has one spelling. */
const pathShape = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,99}){0,8}$/

/** The path without a slash at its end; empty for `/`. */
const pathOf = (path: string): Effect.Effect<string, MountFailed> => {
  const prefix = path === "/" ? "" : path
  return path !== "" && pathShape.test(prefix)
    ? Effect.succeed(prefix)
    : Effect.fail(
        new MountFailed({
          message: `"${path.slice(0, 100)}" is not a path such as "/corral": "/" and names of letters, digits, "-", "_", "." and "~".`
        })
      )
}

/** Where the program's server is reached on this machine. */
const addressOf = (server: HttpServer.HttpServer["Service"], path: string): ServiceAddress["Service"] => {
  const url = new URL(HttpServer.formatAddress(server.address).replace(/^unix:.*/, "http://localhost"))
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1"
  return { url: url.origin, port: Number(url.port || 80), path }
}

/** Whether Node has given the connection to upgrades. Its types lack the field. */
const isUpgrade = (request: IncomingMessage): boolean => Reflect.get(request, "upgrade") === true

/** Node sets the server of each connection of an HTTP server. Its types lack the field. */
const isStopping = (socket: Socket): boolean =>
  (Reflect.get(socket, "server") as { readonly listening?: boolean } | undefined)?.listening === false

const STOP_CHECK = "100 millis"
/** Time for responses in progress, as at the service's own server. */
const RESPONSES_END = "500 millis"

/** Connections of the service. They would keep the program's server open when it stops: it waits for them. */
const openConnections = Effect.fnUntraced(function* (closeUpgraded: Effect.Effect<void>) {
  const open = new Set<Socket>()
  const destroyAll = Effect.sync(() => open.forEach((socket) => socket.destroy()))
  const end = closeUpgraded.pipe(Effect.andThen(Effect.sleep(RESPONSES_END)), Effect.andThen(destroyAll))
  yield* Effect.addFinalizer(() => Effect.andThen(closeUpgraded, destroyAll))
  yield* Effect.suspend(() => ([...open].some(isStopping) ? end : Effect.void)).pipe(
    Effect.repeat(Schedule.spaced(STOP_CHECK)),
    Effect.forkScoped
  )
  return open
})

const mount = Effect.fnUntraced(function* <
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  E,
  R,
  R1,
  R2
>({ path, routes, ...service }: MountOptions<Id, Groups, E, R, R1, R2>) {
  const prefix = yield* pathOf(path)
  const outer = yield* HttpRouter.HttpRouter
  const address = addressOf(yield* HttpServer.HttpServer, prefix)
  const { admitted, closeUpgraded, guarded, onRequest, onUpgrade, unanswered } = yield* makeAnswering(
    service,
    address
  )
  // What the service has set, such as its metrics, and not what the program's server has.
  const references = Context.omit(Scope.Scope, Layer.CurrentMemoMap)(yield* Effect.context<never>())
  // A router of the service alone: its routes cannot be those of another part of the program.
  const router = yield* HttpRouter.make
  yield* Layer.build(
    Layer.fresh(routes).pipe(
      Layer.provide(Layer.succeed(HttpRouter.HttpRouter, router)),
      Layer.provide(Layer.succeedContext(guarded))
    )
  )
  // By Effect's contract, routes may fail in any way.
  // @effect-diagnostics-next-line anyUnknownInErrorContext:off
  const app = admitted(Effect.catchCause(limitBodies(router.asHttpEffect()), unanswered)).pipe(
    Effect.updateContext((ofRequest: Context.Context<HttpServerRequest.HttpServerRequest | Scope.Scope>) =>
      Context.merge(ofRequest, references)
    )
  )
  const open = yield* openConnections(closeUpgraded)

  const answer = (routed: HttpServerRequest.HttpServerRequest) => {
    const { request, response } = nodeExchange(routed)
    const { socket } = request
    open.add(socket)
    response.once("close", () => open.delete(socket))
    onRequest(request, response)
    const inside = routed.modify({ headers: Headers.fromInput(request.headers) })
    return Effect.provideService(app, HttpServerRequest.HttpServerRequest, inside)
  }

  /** Succeeds when the connection is closed: the response has nowhere to go. */
  const upgrade = (request: IncomingMessage) =>
    Effect.callback<HttpServerResponse.HttpServerResponse>((resume) => {
      const { socket } = request
      open.add(socket)
      socket.once("close", () => {
        open.delete(socket)
        resume(Effect.succeed(HttpServerResponse.empty()))
      })
      onUpgrade(request, socket, Buffer.alloc(0))
    })

  const serve = (routed: HttpServerRequest.HttpServerRequest) => {
    const request = NodeHttpServerRequest.toIncomingMessage(routed) as IncomingMessage
    // The guard refuses an absolute target, which it must see as sent.
    if (request.url?.startsWith("/") === true) request.url = routed.url
    return isUpgrade(request) ? upgrade(request) : answer(routed)
  }
  const place = prefix === "" ? outer : outer.prefixed(prefix)
  yield* place.add("*", "/*", serve).pipe(
    Effect.catchDefect(() =>
      Effect.fail(
        new MountFailed({
          message: `Another service of this server is mounted at "${path}". Choose another path for one of them.`
        })
      )
    )
  )
})

export const mountedLayer = <Id extends string, Groups extends HttpApiGroup.Constraint, E, R, R1, R2>(
  options: MountOptions<Id, Groups, E, R, R1, R2>
) => Layer.effectDiscard(mount(options))
