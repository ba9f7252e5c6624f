/** HTTP server of the Gateway. Each request passes the rate limit and the guard, then reaches the routes. There are no upgrades. */
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { clientAddresses, clientNetwork } from "@corral/service/http/ClientAddress"
import type { ConnectionHandlers } from "@corral/service/http/Connections"
import { mountedLayer } from "@corral/service/http/Mounted"
import { discoveryFiles, serviceDocuments } from "@corral/service/http/ServiceDocuments"
import { notFoundPage } from "@corral/service/http/NotFound"
import { RequestGuard, guardedRoutes } from "@corral/service/http/RequestGuard"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { ServiceAddress } from "@corral/service/http/Answering"
import { serviceServerLayer } from "@corral/service/http/ServiceServer"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, type HttpServerRequest } from "effect/http"
import { GatewayConfig } from "../GatewayConfig.ts"
import { Platforms, type WebhookKind } from "../platform/ChatPlatform.ts"
import { gatewayRequestPolicy, routesFor } from "./GatewayRequestPolicy.ts"
import { CurrentRequestId, SchemaErrors } from "@corral/domain/http/RequestContext"
import { refusalResponse } from "@corral/service/http/Refusal"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { HttpApiBuilder } from "effect/http-api"
import { makeWebhook } from "./Webhook.ts"
import { type HealthProblem, type PublicHealth, livenessOk } from "@corral/domain/http/Health"
import { clockSkewProblem } from "@corral/service/clock/ClockOffset"
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { metricsTokenMatcher } from "@corral/service/http/MetricsPage"
import { MetricsToken } from "@corral/service/telemetry/Telemetry"
import { Inbox } from "../inbox/Inbox.ts"

// All HTTP routes of the Gateway, as `GatewayApi` describes them, with their guard, for a server of Node. Webhooks receive raw bodies: nothing is decoded before
// the platform's verification.

// `/health`: whether the Gateway accepts events, with at most one query per second. `/health/live`: whether the process answers.

const noDatabase: HealthProblem = {
  part: "database",
  message: "The database can't be reached or takes no writes.",
  hint: "Check that PostgreSQL is running and reachable and has free disk space. The Gateway reconnects without a restart."
}

const CLOCK_HINT =
  "Synchronize both machines with NTP. The Gateway works with the time of the database server."

const gatewayHealth = HttpApiBuilder.group(
  GatewayApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const { probe } = yield* Inbox
    const isReady = yield* Effect.cachedWithTTL(
      probe.pipe(Effect.timeout("2 seconds"), Effect.isSuccess),
      "1 second"
    )
    const { skewMs } = yield* DatabaseClock
    const carriesMetricsToken = metricsTokenMatcher(yield* MetricsToken)
    return handlers.handleAll({
      health: Effect.fnUntraced(function* ({ request }) {
        const isNowReady = yield* isReady
        const problems = [
          ...(isNowReady ? [] : [noDatabase]),
          ...clockSkewProblem(skewMs(), "the database server", CLOCK_HINT)
        ]
        const status = problems.length === 0 ? "ok" : "degraded"
        const isDetailed = problems.length > 0 && carriesMetricsToken(request.headers["authorization"])
        const body: PublicHealth = isDetailed ? { status, problems } : { status }
        return yield* isNowReady ? Effect.succeed(body) : Effect.fail(body)
      }),
      live: () => Effect.succeed(livenessOk)
    })
  })
)

interface RawRequest {
  readonly request: HttpServerRequest.HttpServerRequest
}

/** The handlers of a platform's webhooks. A platform that is not configured answers 404. */
const webhooksOf = Effect.fnUntraced(function* (id: string) {
  const platform = (yield* Platforms).all.find((each) => each.id === id)
  const webhook = platform === undefined ? undefined : yield* makeWebhook(platform)
  const handlerOf = (kind: WebhookKind) => {
    const handle = webhook?.(kind)
    return ({ request }: RawRequest) =>
      handle === undefined
        ? Effect.map(CurrentRequestId, (id) => refusalResponse({ code: "not_found" }, id))
        : handle(request)
  }
  return { events: handlerOf("events"), cardActions: handlerOf("card-actions") }
})

const feishuWebhooks = HttpApiBuilder.group(
  GatewayApi,
  "feishu",
  Effect.fnUntraced(function* (handlers) {
    const { cardActions, events } = yield* webhooksOf("feishu")
    return handlers.handleRaw("events", events).handleRaw("cardActions", cardActions)
  })
)

const slackWebhooks = HttpApiBuilder.group(
  GatewayApi,
  "slack",
  Effect.fnUntraced(function* (handlers) {
    const { cardActions, events } = yield* webhooksOf("slack")
    return handlers.handleRaw("events", events).handleRaw("cardActions", cardActions)
  })
)

const publicFiles = Layer.unwrap(
  Effect.map(GatewayConfig, ({ securityContact }) =>
    discoveryFiles({
      title: "Corral Gateway",
      summary:
        "A Gateway of Corral: it receives the events of chat platforms for a Hub. Only these platforms call it.",
      securityContact
    })
  )
)

/** The guard admits other requests for served paths only. */
const noPage = HttpRouter.add("GET", "/*", notFoundPage)

const gatewayApiRoutes = HttpApiBuilder.layer(GatewayApi).pipe(
  Layer.provide([gatewayHealth, feishuWebhooks, slackWebhooks]),
  Layer.provide([SchemaErrors.layer, requestIds]),
  Layer.merge([serviceDocuments("gateway", import.meta.url), publicFiles, noPage]),
  Layer.provide(guardedRoutes),
  Layer.provide(HttpServer.layerServices)
)

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
