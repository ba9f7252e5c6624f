/**
 * HTTP server with its own page, and a Hub below `/corral`. Start it from the root of the repository:
 * `PORT=8080 node examples/mount-hub/main.ts`. It serves until SIGTERM. The settings of the Hub are in `CORRAL_…` variables.
 */
import { HubConfig } from "@corral/hub/config/HubConfig"
import * as Hub from "@corral/hub/Hub"
import { readHubConfig } from "@corral/hub/HubSettings"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const port = Number(process.env["PORT"] ?? 8080)

const ownPage = HttpRouter.add("GET", "/", HttpServerResponse.text("my own page"))
const server = HttpRouter.serve(Layer.merge(ownPage, Hub.hubRoutes({ path: "/corral" }))).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
  Layer.provide(Layer.effect(HubConfig, readHubConfig(process.env)))
)

NodeRuntime.runMain(Layer.launch(server))
