/**
 * The Hub's server: every request and upgrade passes the guard and the rate limit, then goes to the routes. A defect is `internal` with
 * nothing of its cause; a database that is not there is `overloaded`.
 */
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import {
  type ConnectionHandlers,
  listen,
  type RequestAuthorization,
  urlOf
} from "@corral/service/http/Listener"
import { refuseUpgrade } from "@corral/service/http/Refusal"
import { answerUnanswered } from "@corral/service/http/Unanswered"
import { endpointPaths } from "@corral/service/telemetry/RouteNames"
import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Clock, Context, Deferred, Effect, Fiber, Layer, Scope } from "effect"
import { HttpIncomingMessage, HttpRouter } from "effect/http"
import type { IncomingMessage } from "node:http"
import type { HubConfig } from "../config/HubConfig.ts"
import { LinkServer } from "../link/LinkServer.ts"
import { EventSockets } from "../live/EventSockets.ts"
import { STREAM_PATH, StreamAuthority } from "../live/StreamAuthority.ts"
import { Callers } from "./Callers.ts"
import { credentialOf, guard, type GuardedRequest, MAX_BODY_BYTES } from "./Guard.ts"
import { LINK_PAGE } from "./LinkPage.ts"
import { PublicUrl } from "./PublicUrl.ts"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { refusalLog } from "./RefusalLog.ts"
import { routes } from "./routes.ts"
import { storeRefusal } from "./StoreRefusal.ts"
import { SignInRate } from "./SignInRate.ts"

/** Where the Hub is reached: by people, and on this machine. */
export class HubServer extends Context.Service<
  HubServer,
  { readonly publicUrl: string; readonly url: string; readonly port: number }
>()("corral/hub/HubServer") {
  static readonly layer = (config: HubConfig) => Layer.effect(HubServer, serve(config))
}

const guarded = (request: IncomingMessage, upgrade: boolean): GuardedRequest => ({
  method: request.method ?? "",
  target: request.url ?? "",
  headers: request.headers,
  rawHeaders: request.rawHeaders,
  upgrade
})

/** The names under which the Hub is reached: its public one, and those of this machine where it listens on loopback. */
const namesOf = ({ publicUrl }: HubConfig, port: number) => {
  const local = ["127.0.0.1", "localhost", "[::1]"].map((host) => `http://${host}:${port}`)
  const origins = publicUrl === undefined ? local : [publicUrl, ...local]
  return { origins: new Set(origins), hosts: new Set(origins.map((origin) => new URL(origin).host)) }
}

const serve = Effect.fnUntraced(function* (config: HubConfig) {
  const callers = yield* Callers
  const clock = yield* Clock.Clock
  const links = yield* LinkServer
  const sockets = yield* EventSockets
  const streams = yield* StreamAuthority
  const services = yield* Effect.context<never>()
  // Closed last of all: what is being answered when the Hub stops is answered.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const address = yield* Deferred.make<string>()
  const app = yield* HttpRouter.toHttpEffect(
    routes.pipe(
      Layer.provide(Layer.succeed(PublicUrl, Deferred.await(address))),
      Layer.provide(SignInRate.layer(config.signInsPerMinute))
    )
  )
  const handler = yield* NodeHttpServer.makeHandler(
    app.pipe(
      Effect.catchCause(answerUnanswered(HubApi, storeRefusal)),
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(MAX_BODY_BYTES))
    ),
    { scope }
  )
  const rate = new RequestRateLimit(config.requestsPerSecond, () => clock.currentTimeMillisUnsafe())

  const paths = [...endpointPaths(HubApi), "/", "/device", `${LINK_PAGE}/:code`, LINK_PATH, STREAM_PATH]
  const logRefusal = yield* refusalLog(paths)

  const doors = (port: number): ConnectionHandlers => {
    const names = namesOf(config, port)
    const publicUrl = config.publicUrl ?? urlOf(config.host, port)
    return {
      paths,
      authorizeRequest: (request, upgrade) => {
        const passage: RequestAuthorization = rate.take(callers.nameOf(request))
          ? guard(guarded(request, upgrade), names)
          : { _tag: "Refuse", code: "rate_limited" }
        if (passage._tag === "Refuse") logRefusal(request, errorTable[passage.code].status)
        return passage
      },
      onRequest: (request, response) => {
        response.once("finish", () => logRefusal(request, response.statusCode))
        handler(request, response)
      },
      onUpgrade: (request, socket, head, id) => {
        if ((request.url ?? "").split("?", 1)[0] === LINK_PATH) {
          // A browser never links: it always says where its page is from.
          if (request.headers.origin !== undefined)
            return refuseUpgrade(socket, { code: "permission_denied", message: "Browsers do not link." }, id)
          return links.accept(request, socket, head, publicUrl)
        }
        const admission = streams.admit(request.url ?? "", credentialOf(request.headers), id).pipe(
          Effect.match({
            onFailure: (error) => {
              const refusal = "code" in error ? error : { code: "overloaded" as const }
              logRefusal(request, errorTable[refusal.code].status)
              refuseUpgrade(socket, refusal, id)
            },
            onSuccess: (subscription) => sockets.accept(request, socket, head, subscription)
          }),
          Effect.catchCause((cause) =>
            Effect.andThen(
              Effect.logError("an upgrade failed", cause),
              Effect.sync(() => refuseUpgrade(socket, { code: "internal" }, id))
            )
          )
        )
        Fiber.runIn(Effect.runForkWith(services)(admission), scope)
      }
    }
  }
  const port = yield* listen(config, doors)
  // Before the listener goes: no upgraded socket keeps it open.
  yield* Effect.addFinalizer(() =>
    Effect.all([links.closeAll, sockets.closeAll], { concurrency: "unbounded", discard: true })
  )
  const url = urlOf(config.host, port)
  const publicUrl = config.publicUrl ?? url
  yield* Deferred.succeed(address, publicUrl)
  return HubServer.of({ url, publicUrl, port })
})
