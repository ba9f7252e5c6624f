/**
 * The Edge's loopback server: one Node server whose requests and upgrades pass the same guard, then go to the routes or the stream.
 *
 * It owns the last word on errors: whatever comes out of the routes that is not an answer becomes an error object here, and a defect is
 * `internal` with nothing of its cause.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { EdgeApi } from "@corral/domain/EdgeApi"
import type { RequestId } from "@corral/domain/Ids"
import { ByteSize, Clock, Context, Data, Effect, Fiber, Layer, Scope } from "effect"
import { HttpIncomingMessage, HttpRouter } from "effect/http"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import type { EdgeConfig } from "../EdgeConfig.ts"
import { mint } from "@corral/service/Identifiers"
import { LocalToken } from "../LocalToken.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { EventStreams } from "./EventStreams.ts"
import { handshakeFlaw } from "@corral/service/http/Handshake"
import {
  AUTHENTICATED,
  guard,
  type GuardedRequest,
  type GuardOptions,
  MAX_BODY_BYTES,
  type Passage,
  requestIdOf
} from "./Guard.ts"
import { RateLimit } from "./RateLimit.ts"
import { refuseRequest, refuseUpgrade, standingHeaders } from "@corral/service/http/Refusal"
import { routes } from "./routes.ts"
import { answerUnanswered } from "@corral/service/http/Unanswered"

/** The address is taken, or not of this machine. */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{ readonly message: string }> {}

/** Where the Edge is reached. */
export class EdgeServer extends Context.Service<
  EdgeServer,
  { readonly url: string; readonly port: number }
>()("corral/edge/EdgeServer") {
  static readonly layer = (config: EdgeConfig) => Layer.effect(EdgeServer, serve(config))
}

const guarded = (request: IncomingMessage, upgrade: boolean): GuardedRequest => ({
  method: request.method ?? "",
  target: request.url ?? "",
  headers: request.headers,
  rawHeaders: request.rawHeaders,
  upgrade
})

const serve = Effect.fnUntraced(function* (config: EdgeConfig) {
  const token = yield* LocalToken
  const runs = yield* RunSupervisor
  const streams = yield* EventStreams
  const clock = yield* Clock.Clock
  // Closed last of all: what is being answered when the Edge stops is answered.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const services = yield* Effect.context<never>()
  const app = yield* HttpRouter.toHttpEffect(routes(config))
  const handler = yield* NodeHttpServer.makeHandler(
    app.pipe(
      Effect.catchCause(answerUnanswered(EdgeApi)),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(MAX_BODY_BYTES))
    ),
    { scope }
  )

  const server = createServer({
    maxHeaderSize: 16_384,
    headersTimeout: 5_000,
    requestTimeout: 60_000,
    // The guard refuses what has no Host, with an error object.
    requireHostHeader: false,
    connectionsCheckingInterval: 2_500
  })
  const port = yield* listen(server, config)
  // Before the listener goes: followers still see how their runs end, and no upgraded socket keeps the server open.
  yield* Effect.addFinalizer(() => Effect.andThen(runs.drain, streams.closeAll))
  const options: GuardOptions = {
    port,
    allowedOrigins: new Set(config.allowedOrigins),
    matchesToken: token.matches
  }

  const rate = new RateLimit(config.requestsPerSecond, () => clock.currentTimeMillisUnsafe())

  /** What is refused counts as well, and not for the token's holder. */
  const passageOf = (request: IncomingMessage, upgrade: boolean): Passage => {
    const passage = guard(guarded(request, upgrade), options)
    const holdsToken = passage._tag === "Pass" && passage.authenticated
    return rate.take(holdsToken) ? passage : { _tag: "Refuse", code: "rate_limited" }
  }

  const requestId = (request: IncomingMessage): RequestId =>
    requestIdOf(request.headers) ?? mint<RequestId>("req", clock.currentTimeMillisUnsafe())

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const id = requestId(request)
    for (const [name, value] of Object.entries(standingHeaders(id))) response.setHeader(name, value)
    const passage = passageOf(request, false)
    if (passage._tag === "Refuse") return refuseRequest(response, passage, id)
    // What the routes read: never what a client claimed.
    request.headers["x-request-id"] = id
    request.headers[AUTHENTICATED] = passage.authenticated ? "yes" : "no"
    handler(request, response)
  })

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => undefined)
    const id = requestId(request)
    const passage = passageOf(request, true)
    if (passage._tag === "Refuse") return refuseUpgrade(socket, passage, id)
    // What the handshake's answer carries: never what a client claimed.
    request.headers["x-request-id"] = id
    const flaw = handshakeFlaw(request)
    if (flaw !== undefined) return refuseUpgrade(socket, flaw, id)
    Fiber.runIn(
      Effect.runForkWith(services)(
        streams.admit(request.url ?? "").pipe(
          Effect.match({
            onFailure: (refusal) => refuseUpgrade(socket, refusal, id),
            onSuccess: (subscription) => streams.accept(request, socket, head, subscription)
          }),
          Effect.catchCause((cause) =>
            Effect.andThen(
              Effect.logError("an upgrade failed", cause),
              Effect.sync(() => refuseUpgrade(socket, { code: "internal" }, id))
            )
          )
        )
      ),
      scope
    )
  })

  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy()
    const code = error.code === "HPE_HEADER_OVERFLOW" ? "payload_too_large" : "schema_validation_failed"
    return refuseUpgrade(socket, { code }, mint<RequestId>("req", clock.currentTimeMillisUnsafe()))
  })

  return EdgeServer.of({ url: `http://${config.host === "::1" ? "[::1]" : config.host}:${port}`, port })
})

const listen = (server: Server, config: EdgeConfig): Effect.Effect<number, ListenFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<number, ListenFailed>((resume) => {
      server.once("error", (error) => resume(Effect.fail(new ListenFailed({ message: error.message }))))
      server.listen({ host: config.host, port: config.port }, () =>
        resume(Effect.succeed((server.address() as AddressInfo).port))
      )
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeIdleConnections()
        // Answers that are being written get a moment; readers that hang do not get more.
        setTimeout(() => server.closeAllConnections(), 500).unref()
      })
  )
