/**
 * HTTP server with its own page, and a Gateway below `/corral`. Start it from the root of the repository:
 * `PORT=8080 node examples/mount-gateway/main.ts`. It serves until SIGTERM. The settings of the Gateway are in `CORRAL_…` variables.
 */
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const port = Number(process.env["PORT"] ?? 8080)

const ownPage = HttpRouter.add("GET", "/", HttpServerResponse.text("my own page"))
const server = HttpRouter.serve(Layer.merge(ownPage, Gateway.gatewayRoutes({ path: "/corral" }))).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
  Layer.provide(Layer.effect(GatewayConfig, readGatewayConfig(process.env)))
)

NodeRuntime.runMain(Layer.launch(server))
