/**
 * The Edge's loopback server: one Node server whose requests and upgrades pass the same guard, then go to the routes or the stream.
 *
 * It owns the last word on errors: whatever comes out of the routes that is not an answer becomes an error object here, and a defect is
 * `internal` with nothing of its cause.
 */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { type ConnectionHandlers, listen, urlOf } from "@corral/service/http/Listener"
import { type HttpRefusal, refuseUpgrade } from "@corral/service/http/Refusal"
import { answerUnanswered } from "@corral/service/http/Unanswered"
import { endpointPaths } from "@corral/service/telemetry/RouteNames"
import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Cause, Clock, Context, Effect, Fiber, Layer, Scope } from "effect"
import { HttpIncomingMessage, HttpRouter } from "effect/http"
import type { IncomingMessage } from "node:http"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { LocalToken } from "../LocalToken.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Store } from "../store/Store.ts"
import { damageOptions, StoreDamaged } from "../store/StoreDamage.ts"
import { EventStreams } from "./EventStreams.ts"
import {
  guardEdgeRequest,
  type GuardedEdgeRequest,
  type EdgeGuardOptions,
  MAX_EDGE_BODY_BYTES
} from "./Guard.ts"
import { RateLimit } from "./RateLimit.ts"
import { edgeRoutes } from "./routes.ts"

/** Where the Edge is reached. */
export class EdgeServer extends Context.Service<
  EdgeServer,
  { readonly url: string; readonly port: number }
>()("corral/edge/EdgeServer") {
  static readonly layer = (config: EdgeConfig) => Layer.effect(EdgeServer, serve(config))
}

const guarded = (request: IncomingMessage, upgrade: boolean): GuardedEdgeRequest => ({
  method: request.method ?? "",
  target: request.url ?? "",
  headers: request.headers,
  rawHeaders: request.rawHeaders,
  upgrade
})

const serve = Effect.fnUntraced(function* (config: EdgeConfig) {
  const token = yield* LocalToken
  const store = yield* Store
  const runs = yield* RunSupervisor
  const streams = yield* EventStreams
  const clock = yield* Clock.Clock
  // Closed last of all: what is being answered when the Edge stops is answered.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const services = yield* Effect.context<never>()
  /** A read of damaged data, wherever it was made. */
  const refusalOf = (defect: unknown): HttpRefusal | undefined => {
    if (!(defect instanceof StoreDamaged)) return undefined
    store.reportDamage(defect)
    return { code: "overloaded", ...damageOptions(defect) }
  }
  const app = yield* HttpRouter.toHttpEffect(edgeRoutes(config))
  const handler = yield* NodeHttpServer.makeHandler(
    app.pipe(
      Effect.catchCause(answerUnanswered(EdgeApi, refusalOf)),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(MAX_EDGE_BODY_BYTES))
    ),
    { scope }
  )

  const rate = new RateLimit(config.requestsPerSecond, () => clock.currentTimeMillisUnsafe())

  const doors = (port: number): ConnectionHandlers => {
    const options: EdgeGuardOptions = {
      port,
      allowedOrigins: new Set(config.allowedOrigins),
      matchesToken: token.matches
    }
    return {
      paths: endpointPaths(EdgeApi),
      // What is refused counts as well, and not for the token's holder.
      authorizeRequest: (request, upgrade) => {
        const found = guardEdgeRequest(guarded(request, upgrade), options)
        const holdsToken = found._tag === "Pass" && found.authenticated
        if (!rate.take(holdsToken)) return { _tag: "Refuse", code: "rate_limited" }
        return found._tag === "Refuse" ? found : { _tag: "Pass" }
      },
      onRequest: handler,
      onUpgrade: (request, socket, head, id) =>
        void Fiber.runIn(
          Effect.runForkWith(services)(
            streams.admit(request.url ?? "").pipe(
              Effect.match({
                onFailure: (refusal) => refuseUpgrade(socket, refusal, id),
                onSuccess: (subscription) => streams.accept({ request, stream: socket, head }, subscription)
              }),
              Effect.catchCause((cause) => {
                const refusal = refusalOf(Cause.squash(cause))
                return Effect.andThen(
                  refusal === undefined ? Effect.logError("an upgrade failed", cause) : Effect.void,
                  Effect.sync(() => refuseUpgrade(socket, refusal ?? { code: "internal" }, id))
                )
              })
            )
          ),
          scope
        )
    }
  }
  const port = yield* listen(config, doors)
  // Before the listener goes: followers still see how their runs end, and no upgraded socket keeps the server open.
  yield* Effect.addFinalizer(() => Effect.andThen(runs.drain, streams.closeAll))
  return EdgeServer.of({ url: urlOf(config.host, port), port })
})
