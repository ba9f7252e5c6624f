/** The Gateway's server: every request passes the rate limit and the guard, then goes to the routes. */
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import type { RequestId } from "@corral/domain/identity/Ids"
import { clientAddresses, clientNetwork } from "@corral/service/http/ClientAddress"
import { type ConnectionHandlers, listen, urlOf } from "@corral/service/http/Listener"
import { refuseRequest, refuseUpgrade } from "@corral/service/http/Refusal"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { answerUnanswered } from "@corral/service/http/Unanswered"
import { NodeHttpServer } from "@effect/platform-node"
import { Clock, Context, Effect, Layer, Scope } from "effect"
import { HttpRouter } from "effect/http"
import type { GatewayConfig } from "../GatewayConfig.ts"
import type { ChatPlatform } from "../platform/ChatPlatform.ts"
import { Platforms } from "../platform/Platforms.ts"
import { type GatewayRoute, guardWebhook, targetPath } from "./Guard.ts"
import { gatewayRoutes } from "./routes.ts"

/** Address of the Gateway on this machine. */
export class GatewayServer extends Context.Service<
  GatewayServer,
  { readonly url: string; readonly port: number }
>()("corral/gateway/GatewayServer") {
  static readonly layer = (config: GatewayConfig) => Layer.effect(GatewayServer, serve(config))
}

/** The paths that this Gateway serves: health, and the webhooks of its platforms. */
const routesFor = (platforms: ReadonlyArray<ChatPlatform>): ReadonlyMap<string, GatewayRoute> => {
  const routes = new Map<string, GatewayRoute>([
    ["/health", { method: "GET" }],
    ["/health/live", { method: "GET" }]
  ])
  for (const { forms = [], id } of platforms) {
    for (const kind of ["events", "card-actions"] as const) {
      const body = forms.includes(kind) ? ({ body: "form" } as const) : {}
      routes.set(`/integrations/${id}/${kind}`, { method: "POST", ...body })
    }
  }
  return routes
}

const serve = Effect.fnUntraced(function* (config: GatewayConfig) {
  const clock = yield* Clock.Clock
  const routes = routesFor((yield* Platforms).all)
  const rate = new RequestRateLimit(config.requestsPerSecond, () => clock.currentTimeMillisUnsafe())
  const addressOf = clientAddresses(config.trustedProxies)
  const app = yield* HttpRouter.toHttpEffect(gatewayRoutes)
  // Closed after the listener: requests in progress are answered first.
  const scope = yield* Scope.fork(yield* Effect.scope)
  const handler = yield* NodeHttpServer.makeHandler(
    app.pipe(Effect.catchCause(answerUnanswered(GatewayApi))),
    { scope }
  )

  const connectionHandlers = (): ConnectionHandlers => ({
    paths: routes.keys(),
    authorizeRequest: (request) =>
      rate.take(clientNetwork(addressOf(request.headers, request.socket.remoteAddress)))
        ? { _tag: "Pass" }
        : { _tag: "Refuse", code: "rate_limited" },
    onRequest: (request, response) => {
      const { headers, method = "", url = "" } = request
      const refusal = guardWebhook({ method, target: url, headers }, routes)
      if (refusal === undefined) return handler(request, response)
      if (refusal.code === "method_not_allowed")
        response.setHeader("Allow", routes.get(targetPath(url))?.method ?? "")
      // Set by the listener.
      refuseRequest(response, refusal, headers["x-request-id"] as RequestId)
    },
    onUpgrade: (_, socket, __, id) => refuseUpgrade(socket, { code: "not_found" }, id)
  })
  const port = yield* listen(config, connectionHandlers)
  return GatewayServer.of({ url: urlOf(config.host, port), port })
})
