/**
 * HTTP server with its own page and the routes of an Edge. Start it from the root of the repository:
 * `PORT=8080 node examples/mount-edge/main.ts`. It prints the file of the token, and serves until SIGTERM.
 */
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import { edgeDefaults } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import { edgeMountedAt } from "@corral/edge/http/EdgeRequestPolicy"
import { edgeRoutes } from "@corral/edge/http/routes"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const port = Number(process.env["PORT"] ?? 8080)
const home = mkdtempSync(join(tmpdir(), "corral-"))
const tokenFile = join(home, "edge.token")
const workspaces = [{ id: "here", path: import.meta.dirname }]
const config = { ...edgeDefaults, home, tokenFile, workspaces, environment: {} }
const adapters = builtIn({ node: process.execPath, scriptedProgram })

const ownPage = HttpRouter.add("GET", "/", HttpServerResponse.text("my own page"))
const server = HttpRouter.serve(Layer.merge(ownPage, edgeRoutes(config))).pipe(
  Layer.provide(edgeMountedAt(config, `http://127.0.0.1:${port}`)),
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
  Layer.provide(Edge.edgeServicesLayer(config, adapters))
)

Console.log(tokenFile).pipe(
  Effect.andThen(Layer.launch(server)),
  Effect.ensuring(Effect.sync(() => rmSync(home, { recursive: true }))),
  NodeRuntime.runMain
)
