/** A service's server on loopback, for tests of what it does around the routes. */
import { Context, Effect, Layer } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ConnectionHandlers } from "../../src/http/Connections.ts"
import { nodeExchange } from "../../src/http/NodeExchange.ts"
import { ServiceAddress } from "../../src/http/Answering.ts"
import { serviceServerLayer } from "../../src/http/ServiceServer.ts"

export const serverLayer = (handlers: Partial<ConnectionHandlers> = {}, port = 0) =>
  serviceServerLayer({
    address: { host: "127.0.0.1", port },
    api: HttpApi.make("Test"),
    policy: Effect.succeed({}),
    connections: Effect.succeed({ paths: [], refusalOf: () => undefined, ...handlers })
  })

/** Hands every request to a Node handler. */
export const nodeRoutes = (onRequest: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (routed) =>
    Effect.callback<HttpServerResponse.HttpServerResponse>((resume) => {
      const { request, response } = nodeExchange(routed)
      response.once("close", () => resume(Effect.succeed(HttpServerResponse.empty())))
      onRequest(request, response)
    })
  )

/** Serves a Node handler until the scope closes. Returns the port. */
export const served = Effect.fnUntraced(function* (
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  handlers: Partial<ConnectionHandlers> = {}
) {
  const context = yield* Layer.build(serverLayer(handlers))
  yield* Effect.provide(HttpServer.serveEffect(nodeRoutes(onRequest)), context)
  return Context.get(context, ServiceAddress).port
})
