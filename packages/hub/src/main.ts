/** `node dist/hub`: runs one Hub until SIGTERM. Prints one JSON line on stdout when it is ready; logs go to stderr. */
import { runService } from "@corral/service/runService"
import { keepYoungGenerationSmall } from "@corral/service/YoungGeneration"
import { Effect, Layer } from "effect"
import * as Hub from "./Hub.ts"
import { HubServer } from "./http/Server.ts"
import { hubConfigFromEnvironment } from "./HubSettings.ts"

const hub = Layer.unwrap(Effect.map(hubConfigFromEnvironment(process.env), Hub.hubLayer))

const ready = Effect.map(HubServer, ({ publicUrl, url }) => ({ ready: true, service: "hub", url, publicUrl }))

keepYoungGenerationSmall()
runService(hub, ready)
