/**
 * HTTP server of the Hub. Each request and upgrade passes the rate limit and the guard, then reaches the routes, the links or the streams.
 *
 * Guarantees: a defect is answered as `internal` without its cause, an unavailable database as `overloaded`.
 */
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import type { ConnectionHandlers } from "@corral/service/http/Connections"
import { endpointPaths } from "@corral/service/http/Endpoints"
import { mountedLayer } from "@corral/service/http/Mounted"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { loopbackHosts, namesOfOrigins, RequestGuard } from "@corral/service/http/RequestGuard"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { ServiceAddress } from "@corral/service/http/Answering"
import { serviceServerLayer } from "@corral/service/http/ServiceServer"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HubConfig } from "../config/HubConfig.ts"
import { HUB_STREAM_PATH } from "../live/StreamAdmission.ts"
import { Callers } from "./Callers.ts"
import { cookieScopeOf } from "./CookieScope.ts"
import { hubRequestPolicy } from "./HubRequestPolicy.ts"
import { LINK_PAGE } from "./LinkPage.ts"
import { PublicUrl } from "./PublicUrl.ts"
import { refusalLog } from "./RefusalLog.ts"
import { hubApiRoutes } from "./routes.ts"
import { storeRefusal } from "./StoreRefusal.ts"
import { upgradeHandlers } from "./Upgrades.ts"

/** Addresses of the Hub: the one for people, and the one on this machine. */
export class HubServer extends Context.Service<
  HubServer,
  { readonly publicUrl: string; readonly url: string; readonly port: number }
>()("corral/hub/HubServer") {
  /** @internal */
  static readonly layer = Layer.unwrap(Effect.map(HubConfig, (config) => serve(config)))
}

const serve = (config: HubConfig) =>
  Layer.effect(HubServer, addresses).pipe(
    Layer.merge(HttpRouter.serve(hubApiRoutes, { disableListenLog: true, disableLogger: true })),
    Layer.provide(publicUrlLayer(config)),
    Layer.provide(serviceServerLayer({ address: config, ...answeringOf(config) }))
  )

export interface HubMount {
  /** Path below which the program's server has the Hub: `/`, or a path such as `/corral/hub`. */
  readonly path: string
}

/**
 * The Hub's routes, links and event streams below a path of a program's server.
 *
 * @internal
 */
export const mountedHub = ({ path }: HubMount) =>
  Layer.unwrap(
    Effect.map(HubConfig, (config) =>
      mountedLayer({
        path,
        routes: hubApiRoutes.pipe(Layer.provide(publicUrlLayer(config))),
        ...answeringOf(config)
      })
    )
  )

const answeringOf = (config: HubConfig) => ({
  api: HubApi,
  policy: policyOf(config),
  connections: Effect.provideServiceEffect(connectionsOf(config), PublicUrl, publicUrlOf(config))
})

const addresses = Effect.gen(function* () {
  const { port, url } = yield* ServiceAddress
  return { port, url, publicUrl: yield* PublicUrl }
})

const publicUrlOf = ({ publicUrl }: HubConfig) =>
  Effect.map(ServiceAddress, ({ path, url }) => (publicUrl ?? url) + path)

const publicUrlLayer = (config: HubConfig) => Layer.effect(PublicUrl, publicUrlOf(config))

/** The Hub answers to its public name and to the names of this machine. */
const policyOf = Effect.fnUntraced(function* ({ publicUrl }: HubConfig) {
  const { port } = yield* ServiceAddress
  const local = loopbackHosts(port).map((host) => `http://${host}`)
  return hubRequestPolicy(namesOfOrigins(publicUrl === undefined ? local : [publicUrl, ...local]))
})

/** Paths that the Hub serves, for metrics, spans and the log. */
const paths = [...endpointPaths(HubApi), "/", "/device", `${LINK_PAGE}/:code`, LINK_PATH, HUB_STREAM_PATH]

const connectionsOf = Effect.fnUntraced(function* ({ requestsPerSecond }: HubConfig) {
  const callers = yield* Callers
  const clock = yield* Clock.Clock
  const guard = yield* RequestGuard
  const cookies = cookieScopeOf(yield* PublicUrl)
  const logRefusal = yield* refusalLog(paths)
  const rate = new RequestRateLimit(requestsPerSecond, () => clock.currentTimeMillisUnsafe())
  const handlers: ConnectionHandlers = {
    paths,
    onArrival: ({ headers }) => {
      if (headers.cookie !== undefined) headers.cookie = cookies.received(headers.cookie)
    },
    refusalOf: (request, isUpgrade) => {
      const refusal: HttpRefusal | undefined = rate.take(callers.keyOf(request))
        ? guard.refusalOfMessage(request, isUpgrade)
        : { code: "rate_limited" }
      if (refusal !== undefined) logRefusal(request, errorTable[refusal.code].status)
      return refusal
    },
    onRouted: (request, response) =>
      void response.once("finish", () => logRefusal(request, response.statusCode)),
    refusalOfDefect: storeRefusal,
    ...(yield* upgradeHandlers(logRefusal))
  }
  return handlers
})
