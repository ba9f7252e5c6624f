/**
 * HTTP server with its own page, and an Edge below `/corral`. Start it from the root of the repository:
 * `PORT=8080 node examples/mount-edge/main.ts`. It prints the file of the token, and serves until SIGTERM.
 */
import { EdgeConfig, makeEdgeConfig } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const port = Number(process.env["PORT"] ?? 8080)
const home = mkdtempSync(join(tmpdir(), "corral-"))
const workspaces = [{ id: "here", path: import.meta.dirname }]
const config = makeEdgeConfig({ home, workspaces })

const ownPage = HttpRouter.add("GET", "/", HttpServerResponse.text("my own page"))
const server = HttpRouter.serve(Layer.merge(ownPage, Edge.edgeRoutes({ path: "/corral" }))).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
  Layer.provide(Layer.succeed(EdgeConfig, config))
)

Console.log(config.tokenFile).pipe(
  Effect.andThen(Layer.launch(server)),
  Effect.ensuring(Effect.sync(() => rmSync(home, { recursive: true }))),
  NodeRuntime.runMain
)
