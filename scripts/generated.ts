/**
 * The documents that are derived from the code: OpenAPI of the three services, AsyncAPI of their event streams, JSON Schema of the events and of the configuration file,
 * the pages of settings, endpoints, events, errors and metrics, and the index of the decision records.
 *
 * Pure: path → text. `generate.ts` writes them, `generated.test.ts` finds the ones that are stale.
 */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { EdgeConfigFile } from "@corral/edge/runtime/ConfigSchema"
import { Envelope, eventSchema, eventTypes } from "@corral/domain/run/RunEvent"
import { Schema } from "effect"
import { adrIndex } from "./AdrIndex.ts"
import { authorizationPage } from "./AuthorizationPage.ts"
import { clientPaths } from "./ClientPaths.ts"
import { configurationPage } from "./ConfigurationPage.ts"
import { errorsPage } from "./ErrorsPage.ts"
import { eventsPage } from "./EventsPage.ts"
import { httpPage } from "./HttpPage.ts"
import { sorted } from "./Json.ts"
import { metricsPage } from "./MetricsPage.ts"
import {
  asyncApiDocument,
  edgeStreamService,
  gatewayStreamService,
  hubStreamService
} from "./openapi/AsyncApiDocument.ts"
import { openApiDocument } from "./openapi/OpenApiDocument.ts"
import { edgeTexts, gatewayTexts, hubTexts } from "./openapi/OpenApiTexts.ts"
import { settingNamesModule } from "./SettingNames.ts"

/** The command that brings the documents up to date. */
export const command = "npm run generate"

const text = (document: unknown) => `${JSON.stringify(sorted(document), null, 2)}\n`

/** Any event: one definition per type, and `Envelope`, which is what a reader may rely on for types it does not know. */
const runEvent = () => {
  const events = eventTypes.map((type) => eventSchema(type).annotate({ identifier: type }))
  const { schema, definitions } = Schema.toJsonSchemaDocument(Schema.Union(events))
  const envelope = Schema.toJsonSchemaDocument(Envelope)
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:corral:schema:run-event",
    title: "RunEvent",
    description: "The events of payload version 1. Unknown types and fields are to be ignored, and kept.",
    ...schema,
    $defs: { ...definitions, ...envelope.definitions }
  }
}

/** The file of profiles and runners, for editors. */
const edgeConfig = () => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(EdgeConfigFile, { onExcessProperty: "error" })
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:corral:schema:edge-config",
    title: "EdgeConfigFile",
    description: "Profiles and runners of an Edge: `edge.config.json`.",
    ...schema,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions })
  }
}

/** Repository path → contents. */
export const generated = (): ReadonlyMap<string, string> =>
  new Map([
    ["openapi/hub.json", text(openApiDocument(HubApi, hubTexts))],
    ["openapi/edge.json", text(openApiDocument(EdgeApi, edgeTexts))],
    ["openapi/gateway.json", text(openApiDocument(GatewayApi, gatewayTexts))],
    ["asyncapi/edge.json", text(asyncApiDocument(edgeStreamService))],
    ["asyncapi/hub.json", text(asyncApiDocument(hubStreamService))],
    ["asyncapi/gateway.json", text(asyncApiDocument(gatewayStreamService))],
    ["schemas/run-event.json", text(runEvent())],
    ["schemas/edge-config.json", text(edgeConfig())],
    ["packages/client/src/edgePaths.ts", clientPaths("edgePaths", EdgeApi)],
    ["packages/client/src/hubPaths.ts", clientPaths("hubPaths", HubApi)],
    ["packages/service/src/settings/settingNames.ts", settingNamesModule()],
    ["docs/adr/README.md", adrIndex()],
    ["docs/authorization.md", authorizationPage()],
    ["docs/configuration.md", configurationPage()],
    ["docs/events.md", eventsPage()],
    ["docs/errors.md", errorsPage()],
    ["docs/metrics.md", metricsPage()],
    ["docs/http.md", httpPage()]
  ])
