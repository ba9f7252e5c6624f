/** HTTP server of the Gateway. Each request passes the rate limit and the guard, then reaches the routes. There are no upgrades. */
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { clientAddresses, clientNetwork } from "@corral/service/http/ClientAddress"
import type { ConnectionHandlers } from "@corral/service/http/Connections"
import { mountedLayer } from "@corral/service/http/Mounted"
import { RequestGuard } from "@corral/service/http/RequestGuard"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { ServiceAddress } from "@corral/service/http/Answering"
import { serviceServerLayer } from "@corral/service/http/ServiceServer"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { GatewayConfig } from "../GatewayConfig.ts"
import { Platforms } from "../platform/Platforms.ts"
import { gatewayRequestPolicy, routesFor } from "./GatewayRequestPolicy.ts"
import { gatewayApiRoutes } from "./routes.ts"

/** Address of the Gateway on this machine. */
export class GatewayServer extends Context.Service<
  GatewayServer,
  { readonly url: string; readonly port: number }
>()("corral/gateway/GatewayServer") {
  /** @internal */
  static readonly layer = Layer.unwrap(Effect.map(GatewayConfig, (config) => serve(config)))
}

const serve = (config: GatewayConfig) =>
  Layer.effect(GatewayServer, ServiceAddress).pipe(
    Layer.merge(HttpRouter.serve(gatewayApiRoutes, { disableListenLog: true, disableLogger: true })),
    Layer.provide(serviceServerLayer({ address: config, ...answeringOf(config) }))
  )

export interface GatewayMount {
  /** Path below which the program's server has the Gateway: `/`, or a path such as `/corral/gateway`. */
  readonly path: string
}

/**
 * The Gateway's routes below a path of a program's server.
 *
 * @internal
 */
export const mountedGateway = ({ path }: GatewayMount) =>
  Layer.unwrap(
    Effect.map(GatewayConfig, (config) =>
      mountedLayer({ path, routes: gatewayApiRoutes, ...answeringOf(config) })
    )
  )

const answeringOf = (config: GatewayConfig) => ({
  api: GatewayApi,
  policy: Effect.map(Platforms, ({ all }) => gatewayRequestPolicy(routesFor(all))),
  connections: connectionsOf(config)
})

const connectionsOf = Effect.fnUntraced(function* ({ requestsPerSecond, trustedProxies }: GatewayConfig) {
  const clock = yield* Clock.Clock
  const guard = yield* RequestGuard
  const rate = new RequestRateLimit(requestsPerSecond, () => clock.currentTimeMillisUnsafe())
  const addressOf = clientAddresses(trustedProxies)
  const handlers: ConnectionHandlers = {
    paths: routesFor((yield* Platforms).all).keys(),
    refusalOf: (request, isUpgrade) => {
      if (!rate.take(clientNetwork(addressOf(request.headers, request.socket.remoteAddress))))
        return { code: "rate_limited" }
      return isUpgrade ? undefined : guard.refusalOfMessage(request, isUpgrade)
    }
  }
  return handlers
})
