/** `node dist/edge`: one Edge until SIGTERM. One JSON line on stdout when it serves; logs on stderr. */
import { builtIn } from "@corral/adapters/Registry"
import { Effect, Layer } from "effect"
import { readEdgeConfig } from "./EdgeSettings.ts"
import * as Edge from "./Edge.ts"
import { EdgeServer } from "./http/Server.ts"
import { runService } from "@corral/service/runService"
import { scriptedProgram } from "./scriptedProgram.ts"
import { keepYoungGenerationSmall } from "@corral/service/YoungGeneration"

const edge = Layer.unwrap(
  Effect.map(readEdgeConfig(process.env), (config) =>
    Edge.edgeLayer(config, builtIn({ node: process.execPath, scriptedProgram }))
  )
)

const ready = Effect.map(EdgeServer, ({ url }) => ({ ready: true, service: "edge", url }))

keepYoungGenerationSmall()
runService(edge, ready)
