/**
 * The Gateway's server: every request passes the rate limit and the guard, then goes to its webhook as it came. There is no router and no
 * decoder between the socket and the platform's verification.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { clientAddresses, clientNetwork } from "@corral/service/http/ClientAddress"
import { type ConnectionHandlers, listen, urlOf } from "@corral/service/http/Listener"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { refuseRequest, refuseUpgrade } from "@corral/service/http/Refusal"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer } from "effect"
import type { GatewayConfig } from "../GatewayConfig.ts"
import type { PendingAnswers } from "../handling/PendingAnswers.ts"
import type { Inbox } from "../inbox/Inbox.ts"
import type { ChatPlatform } from "../platform/ChatPlatform.ts"
import { pathOf, refusalOf, type Served } from "./Guard.ts"
import { health, live } from "./Health.ts"
import { type Listener, webhook } from "./Webhook.ts"

/** Where the Gateway is reached on this machine. */
export class GatewayServer extends Context.Service<
  GatewayServer,
  { readonly url: string; readonly port: number }
>()("corral/gateway/GatewayServer") {
  static readonly layer = (config: GatewayConfig, platforms: ReadonlyArray<ChatPlatform>) =>
    Layer.effect(GatewayServer, serve(config, platforms))
}

const serve = Effect.fnUntraced(function* (config: GatewayConfig, platforms: ReadonlyArray<ChatPlatform>) {
  const services = yield* Effect.context<PendingAnswers | Inbox>()
  const clock = yield* Clock.Clock
  const metrics = yield* CurrentMetrics
  const now = () => clock.currentTimeMillisUnsafe()
  const rate = new RequestRateLimit(config.requestsPerSecond, now)
  const addressOf = clientAddresses(config.trustedProxies)

  const routes = new Map<string, Listener>([
    ["/health", yield* health(services)],
    ["/health/live", live]
  ])
  const served = new Map<string, Served>([
    ["/health", { method: "GET" }],
    ["/health/live", { method: "GET" }]
  ])
  for (const platform of platforms) {
    for (const door of ["events", "card-actions"] as const) {
      const path = `/integrations/${platform.id}/${door}`
      routes.set(path, webhook(platform, door, services, metrics, now))
      served.set(path, { method: "POST", ...(platform.forms?.includes(door) ? { body: "form" } : {}) })
    }
  }

  const doors = (): ConnectionHandlers => ({
    paths: routes.keys(),
    authorizeRequest: (request) =>
      rate.take(clientNetwork(addressOf(request.headers, request.socket.remoteAddress)))
        ? { _tag: "Pass" }
        : { _tag: "Refuse", code: "rate_limited" },
    onRequest: (request, response) => {
      const { headers, method = "", url = "" } = request
      const refusal = refusalOf({ method, target: url, headers }, served)
      if (refusal === undefined) return routes.get(pathOf(url))?.(request, response)
      if (refusal.code === "method_not_allowed")
        response.setHeader("Allow", served.get(pathOf(url))?.method ?? "")
      // The server put the id there.
      refuseRequest(response, refusal, headers["x-request-id"] as RequestId)
    },
    onUpgrade: (_, socket, __, id) => refuseUpgrade(socket, { code: "not_found" }, id)
  })
  const port = yield* listen(config, doors)
  return GatewayServer.of({ url: urlOf(config.host, port), port })
})
