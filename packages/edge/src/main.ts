/** `node dist/edge`: one Edge until SIGTERM. One JSON line on stdout when it serves; logs on stderr. */
// First: the thread starts while the other modules load.
import { firstWriter } from "./firstWriter.ts"
import { Effect, Layer } from "effect"
import { EdgeConfig } from "./config/EdgeConfig.ts"
import { readEdgeConfig } from "./EdgeSettings.ts"
import * as Edge from "./Edge.ts"
import { EdgeServer } from "./http/Server.ts"
import { runService } from "@corral/service/runService"
import { FirstWriter } from "./store/Store.ts"
import { keepYoungGenerationSmall } from "@corral/service/ServiceMemory"

const edge = Edge.edgeLayer.pipe(
  Layer.provide(Layer.effect(EdgeConfig, readEdgeConfig(process.env))),
  Layer.provide(Layer.succeed(FirstWriter, firstWriter))
)

const ready = Effect.map(EdgeServer, ({ url }) => ({ ready: true, service: "edge", url }))

runService(edge, ready, keepYoungGenerationSmall)
