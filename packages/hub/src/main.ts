/** `node dist/hub`: runs one Hub until SIGTERM. Prints one JSON line on stdout when it is ready; logs go to stderr. */
// First: schemas that were used before keep their interpreter (ADR 38).
import "effect/schema/SchemaJITCompiler/enable"
import { runService } from "@corral/service/runService"
import { keepYoungGenerationSmall } from "@corral/service/ServiceMemory"
import { Effect, Layer } from "effect"
import { HubConfig } from "./config/HubConfig.ts"
import * as Hub from "./Hub.ts"
import { HubServer } from "./http/Server.ts"
import { readHubConfig } from "./HubSettings.ts"

const hub = Layer.provide(Hub.hubLayer, Layer.effect(HubConfig, readHubConfig(process.env)))

const ready = Effect.map(HubServer, ({ publicUrl, url }) => ({ ready: true, service: "hub", url, publicUrl }))

runService(hub, ready, keepYoungGenerationSmall)
