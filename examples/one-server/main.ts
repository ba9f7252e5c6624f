/**
 * One HTTP server with its own page and health, a Hub, a Gateway and an Edge. Start it from the root of the repository:
 * `PORT=8080 CORRAL_DATABASE_URL=postgres://… node examples/one-server/main.ts`. It prints the folder of the Edge, and serves until SIGTERM. The other
 * settings of the Hub and the Gateway are in `CORRAL_…` variables.
 */
import { EdgeConfig, makeEdgeConfig } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { HubConfig } from "@corral/hub/config/HubConfig"
import * as Hub from "@corral/hub/Hub"
import { readHubConfig } from "@corral/hub/HubSettings"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const port = Number(process.env["PORT"] ?? 8080)
const home = mkdtempSync(join(tmpdir(), "corral-"))
// The Gateway calls the Hub with this token.
const token = randomBytes(32).toString("base64url")
const hubVariables = { CORRAL_HOME: home, ...process.env, CORRAL_HUB_GATEWAY_TOKEN: token }
const gatewayVariables = {
  ...process.env,
  CORRAL_HUB_URL: `http://127.0.0.1:${port}/corral/hub`,
  CORRAL_GATEWAY_HUB_TOKEN: token
}

const pages = Layer.merge(
  HttpRouter.add("GET", "/", HttpServerResponse.text("my own page")),
  HttpRouter.add("GET", "/health", HttpServerResponse.text("my own health"))
)
const server = HttpRouter.serve(
  Layer.mergeAll(
    pages,
    Hub.hubRoutes({ path: "/corral/hub" }),
    Gateway.gatewayRoutes({ path: "/corral/gateway" }),
    Edge.edgeRoutes({ path: "/corral/edge" })
  )
).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
  Layer.provide([
    Layer.effect(HubConfig, readHubConfig(hubVariables)),
    Layer.effect(GatewayConfig, readGatewayConfig(gatewayVariables)),
    Layer.succeed(
      EdgeConfig,
      makeEdgeConfig({
        home: join(home, "edge"),
        workspaces: [{ id: "here", path: import.meta.dirname }]
      })
    )
  ])
)

Console.log(join(home, "edge")).pipe(
  Effect.andThen(Layer.launch(server)),
  Effect.ensuring(Effect.sync(() => rmSync(home, { recursive: true }))),
  NodeRuntime.runMain
)
