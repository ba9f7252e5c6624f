/**
 * HTTP server of the Hub. Each request and upgrade passes the rate limit and the guard, then reaches the routes.
 *
 * Guarantees: a defect is answered as `internal` without its cause, an unavailable database as `overloaded`.
 */
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { type ConnectionHandlers, listen, urlOf } from "@corral/service/http/Listener"
import { type HttpRefusal, refuseUpgrade } from "@corral/service/http/Refusal"
import { type Guard, MAX_REQUEST_BYTES, pathOfTarget, RequestGuard } from "@corral/service/http/RequestGuard"
import { answerUnanswered } from "@corral/service/http/Unanswered"
import { endpointPaths } from "@corral/service/telemetry/RouteNames"
import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Clock, Context, Deferred, Effect, Fiber, Layer, Scope } from "effect"
import { HttpIncomingMessage, HttpRouter } from "effect/http"
import type { HubConfig } from "../config/HubConfig.ts"
import { LinkServer } from "../link/LinkServer.ts"
import { EventSockets } from "../live/EventSockets.ts"
import { HUB_STREAM_PATH } from "../live/StreamAdmission.ts"
import { StreamAuthority } from "../live/StreamAuthority.ts"
import { Callers } from "./Callers.ts"
import { hubRequestPolicy, namesOfOrigins } from "./HubRequestPolicy.ts"
import { LINK_PAGE } from "./LinkPage.ts"
import { PublicUrl } from "./PublicUrl.ts"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { refusalLog } from "./RefusalLog.ts"
import { credentialOf } from "./RequestCredential.ts"
import { hubServerRoutes } from "./routes.ts"
import { storeRefusal } from "./StoreRefusal.ts"
import { SignInRate } from "./SignInRate.ts"

/** Addresses of the Hub: the one for people, and the one on this machine. */
export class HubServer extends Context.Service<
  HubServer,
  { readonly publicUrl: string; readonly url: string; readonly port: number }
>()("corral/hub/HubServer") {
  static readonly layer = (config: HubConfig) => Layer.effect(HubServer, serve(config))
}

/** Paths that the Hub serves, for metrics, spans and the log. */
const paths = [...endpointPaths(HubApi), "/", "/device", `${LINK_PAGE}/:code`, LINK_PATH, HUB_STREAM_PATH]

const loopbackOrigins = (port: number): ReadonlyArray<string> =>
  ["127.0.0.1", "localhost", "[::1]"].map((host) => `http://${host}:${port}`)

/** Guard of a Hub that listens on this port. The Hub answers to its public name and to the names of this machine. */
const guardAt = ({ publicUrl }: HubConfig, port: number): Guard => {
  const local = loopbackOrigins(port)
  return RequestGuard.make(
    hubRequestPolicy(namesOfOrigins(publicUrl === undefined ? local : [publicUrl, ...local]))
  )
}

type LogRefusal = Effect.Success<ReturnType<typeof refusalLog>>

/** Handles upgrades: the links of Edges and the event streams of clients. */
const upgradesWith = Effect.fnUntraced(function* (logRefusal: LogRefusal, scope: Scope.Scope) {
  const links = yield* LinkServer
  const sockets = yield* EventSockets
  const streams = yield* StreamAuthority
  const services = yield* Effect.context<never>()

  const acceptLink = (
    publicUrl: string,
    ...[request, socket, head, id]: Parameters<ConnectionHandlers["onUpgrade"]>
  ) =>
    // Only browsers send an Origin, and a browser is not an Edge.
    request.headers.origin === undefined
      ? links.accept(request, socket, head, publicUrl)
      : refuseUpgrade(socket, { code: "permission_denied", message: "Browsers can't open a link." }, id)

  const acceptStream: ConnectionHandlers["onUpgrade"] = (request, socket, head, id) => {
    const accepted = streams.admit(request.url ?? "", credentialOf(request.headers), id).pipe(
      Effect.match({
        onFailure: (error) => {
          const refusal: HttpRefusal = "code" in error ? error : { code: "overloaded" }
          logRefusal(request, errorTable[refusal.code].status)
          refuseUpgrade(socket, refusal, id)
        },
        onSuccess: (subscription) => sockets.accept({ request, stream: socket, head }, subscription)
      }),
      Effect.catchCause((cause) =>
        Effect.andThen(
          Effect.logError("failed to upgrade a connection", cause),
          Effect.sync(() => refuseUpgrade(socket, { code: "internal" }, id))
        )
      )
    )
    Fiber.runIn(Effect.runForkWith(services)(accepted), scope)
  }

  return {
    onUpgradeAt:
      (publicUrl: string): ConnectionHandlers["onUpgrade"] =>
      (...upgrade) =>
        pathOfTarget(upgrade[0].url ?? "") === LINK_PATH
          ? acceptLink(publicUrl, ...upgrade)
          : acceptStream(...upgrade),
    closeAll: Effect.all([links.closeAll, sockets.closeAll], { concurrency: "unbounded", discard: true })
  }
})

/** Handles requests. The routes get the public URL and the guard once the server listens. */
const requestsWith = Effect.fnUntraced(function* (
  config: HubConfig,
  publicUrl: Effect.Effect<string>,
  guard: Effect.Effect<Guard>,
  scope: Scope.Scope
) {
  const app = yield* HttpRouter.toHttpEffect(
    hubServerRoutes.pipe(
      Layer.provide([Layer.succeed(PublicUrl, publicUrl), Layer.succeed(RequestGuard, guard)]),
      Layer.provide(SignInRate.layer(config.signInsPerMinute))
    )
  )
  return yield* NodeHttpServer.makeHandler(
    app.pipe(
      Effect.catchCause(answerUnanswered(HubApi, storeRefusal)),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(MAX_REQUEST_BYTES))
    ),
    { scope }
  )
})

const serve = Effect.fnUntraced(function* (config: HubConfig) {
  const callers = yield* Callers
  const clock = yield* Clock.Clock
  // Closed last: responses in progress are completed when the Hub stops.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const listening = yield* Deferred.make<{ readonly publicUrl: string; readonly guard: Guard }>()
  const handler = yield* requestsWith(
    config,
    Effect.map(Deferred.await(listening), ({ publicUrl }) => publicUrl),
    Effect.map(Deferred.await(listening), ({ guard }) => guard),
    scope
  )
  const rate = new RequestRateLimit(config.requestsPerSecond, () => clock.currentTimeMillisUnsafe())
  const logRefusal = yield* refusalLog(paths)
  const upgrades = yield* upgradesWith(logRefusal, scope)

  const handlersAt = (port: number): ConnectionHandlers => {
    const publicUrl = config.publicUrl ?? urlOf(config.host, port)
    const guard = guardAt(config, port)
    Deferred.doneUnsafe(listening, Effect.succeed({ publicUrl, guard }))
    return {
      paths,
      authorizeRequest: (request, isUpgrade) => {
        const refusal: HttpRefusal | undefined = rate.take(callers.nameOf(request))
          ? guard.refusalOfMessage(request, isUpgrade)
          : { code: "rate_limited" }
        if (refusal === undefined) return { _tag: "Pass" }
        logRefusal(request, errorTable[refusal.code].status)
        return { _tag: "Refuse", ...refusal }
      },
      onRequest: (request, response) => {
        response.once("finish", () => logRefusal(request, response.statusCode))
        handler(request, response)
      },
      onUpgrade: upgrades.onUpgradeAt(publicUrl)
    }
  }
  const port = yield* listen(config, handlersAt)
  // Before the listener closes: an upgraded socket would keep it open.
  yield* Effect.addFinalizer(() => upgrades.closeAll)
  const { publicUrl } = yield* Deferred.await(listening)
  return HubServer.of({ url: urlOf(config.host, port), publicUrl, port })
})
