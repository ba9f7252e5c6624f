/** `node dist/edge`: one Edge until SIGTERM. One JSON line on stdout when it serves; logs on stderr. */
// First: the thread starts while the other modules load.
import { firstWriter } from "./firstWriter.ts"
import { builtIn } from "@corral/adapters/Registry"
import { Effect, Layer } from "effect"
import { readEdgeConfig } from "./EdgeSettings.ts"
import * as Edge from "./Edge.ts"
import { EdgeServer } from "./http/Server.ts"
import { runService } from "@corral/service/runService"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import { FirstWriter } from "./store/Store.ts"
import { keepYoungGenerationSmall } from "@corral/service/YoungGeneration"

const edge = Layer.unwrap(
  Effect.map(readEdgeConfig(process.env), (config) =>
    Edge.edgeLayer(config, builtIn({ node: process.execPath, scriptedProgram })).pipe(
      Layer.provide(Layer.succeed(FirstWriter, firstWriter))
    )
  )
)

const ready = Effect.map(EdgeServer, ({ url }) => ({ ready: true, service: "edge", url }))

runService(edge, ready, keepYoungGenerationSmall)
