/**
 * All HTTP routes of the Gateway, as `GatewayApi` describes them, with their guard, for a server of Node. Webhooks receive raw bodies: nothing is decoded before
 * the platform's verification.
 */
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { CurrentRequestId, SchemaErrors } from "@corral/domain/http/RequestContext"
import { refusalResponse } from "@corral/service/http/RefusalResponse"
import { guardedRoutes } from "@corral/service/http/RequestGuard"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { Effect, Layer } from "effect"
import { HttpServer, type HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { WebhookKind } from "../platform/ChatPlatform.ts"
import { Platforms } from "../platform/Platforms.ts"
import { gatewayHealth } from "./Health.ts"
import { makeWebhook } from "./Webhook.ts"

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

export const gatewayApiRoutes = HttpApiBuilder.layer(GatewayApi).pipe(
  Layer.provide([gatewayHealth, feishuWebhooks, slackWebhooks]),
  Layer.provide([SchemaErrors.layer, requestIds]),
  Layer.provide(guardedRoutes),
  Layer.provide(HttpServer.layerServices)
)
