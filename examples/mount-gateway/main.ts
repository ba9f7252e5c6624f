/**
 * HTTP server with its own page and the routes of a Gateway. Start it from the root of the repository:
 * `PORT=8080 node examples/mount-gateway/main.ts`. It serves until SIGTERM. The settings of the Gateway are in `CORRAL_…` variables.
 */
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { gatewayGuardLayer } from "@corral/gateway/http/GatewayRequestPolicy"
import { gatewayRoutes } from "@corral/gateway/http/routes"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const port = Number(process.env["PORT"] ?? 8080)

const ownPage = HttpRouter.add("GET", "/", HttpServerResponse.text("my own page"))
const server = HttpRouter.serve(Layer.merge(ownPage, gatewayRoutes)).pipe(
  Layer.provide(gatewayGuardLayer),
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
  Layer.provide(Gateway.gatewayServicesLayer),
  Layer.provide(Layer.effect(GatewayConfig, readGatewayConfig(process.env)))
)

NodeRuntime.runMain(Layer.launch(server))
