/** `node dist/gateway`: one Gateway until SIGTERM. Prints one JSON line on stdout when it is ready; logs go to stderr. */
// First: schemas that were used before keep their interpreter (ADR 38).
import "effect/schema/SchemaJITCompiler/enable"
import { runService } from "@corral/service/runService"
import { keepYoungGenerationSmall } from "@corral/service/ServiceMemory"
import { Effect, Layer } from "effect"
import * as Gateway from "./Gateway.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import { GatewayServer } from "./http/Server.ts"
import { readGatewayConfig } from "./GatewaySettings.ts"

const gateway = Layer.provide(
  Gateway.gatewayLayer,
  Layer.effect(GatewayConfig, readGatewayConfig(process.env))
)

const ready = Effect.map(GatewayServer, ({ url }) => ({ ready: true, service: "gateway", url }))

runService(gateway, ready, keepYoungGenerationSmall)
