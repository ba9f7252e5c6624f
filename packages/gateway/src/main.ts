/** `node dist/gateway`: one Gateway until SIGTERM. One JSON line on stdout when it serves; logs on stderr. */
import { runService } from "@corral/service/runService"
import { keepYoungGenerationSmall } from "@corral/service/YoungGeneration"
import { Effect, Layer } from "effect"
import * as Gateway from "./Gateway.ts"
import { GatewayServer } from "./http/Server.ts"
import { gatewayConfigFrom } from "./GatewaySettings.ts"

const gateway = Layer.unwrap(
  Effect.map(gatewayConfigFrom(process.env), (config) => Gateway.gatewayLayer(config))
)

const ready = Effect.map(GatewayServer, ({ url }) => ({ ready: true, service: "gateway", url }))

keepYoungGenerationSmall()
runService(gateway, ready)
