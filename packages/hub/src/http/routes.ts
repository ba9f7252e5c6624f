/**
 * All HTTP routes of the Hub, with their guard and their authentication.
 */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { SchemaErrors } from "@corral/domain/http/RequestContext"
import { compressedJson } from "@corral/service/http/CompressedJson"
import { guardedRoutes } from "@corral/service/http/RequestGuard"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { Layer } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { apiKeyEndpoints } from "./ApiKeys.ts"
import { approvalEndpoints } from "./Approvals.ts"
import { auditEndpoints } from "./AuditTrail.ts"
import { authEndpoints } from "./Auth.ts"
import { authentication, gatewayAuthentication } from "./Authentication.ts"
import { chatBindingEndpoints } from "./ChatBindings.ts"
import { conversationEndpoints } from "./Conversations.ts"
import { consolePages } from "./Console.ts"
import { deviceRegistrationEndpoints } from "./DeviceRegistration.ts"
import { devicePage } from "./DevicePage.ts"
import { deviceEndpoints } from "./Devices.ts"
import { fileEndpoints } from "./Files.ts"
import { inputEndpoints } from "./Inputs.ts"
import { integrationEndpoints } from "./Integrations.ts"
import { linkPage } from "./LinkPage.ts"
import { changeFeedEndpoints } from "./ChangeFeed.ts"
import { projectEndpoints } from "./Projects.ts"
import { publicEndpoints } from "./Public.ts"
import { runEndpoints } from "./Runs.ts"
import { hubDeadlines } from "./RequestDeadlines.ts"
import { searchEndpoints } from "./Search.ts"
import { sessionEndpoints } from "./Sessions.ts"
import { signInEndpoints } from "./SignIn.ts"
import { taskEndpoints } from "./Tasks.ts"
import { uploadEndpoints } from "./Uploads.ts"

export const hubApiRoutes = HttpApiBuilder.layer(HubApi).pipe(
  Layer.provide([
    publicEndpoints,
    signInEndpoints,
    authEndpoints,
    apiKeyEndpoints,
    sessionEndpoints,
    conversationEndpoints,
    uploadEndpoints,
    searchEndpoints,
    projectEndpoints,
    deviceRegistrationEndpoints,
    deviceEndpoints,
    fileEndpoints,
    taskEndpoints,
    runEndpoints,
    approvalEndpoints,
    inputEndpoints,
    changeFeedEndpoints,
    integrationEndpoints,
    chatBindingEndpoints,
    auditEndpoints
  ]),
  Layer.provide([SchemaErrors.layer, requestIds, authentication, gatewayAuthentication]),
  Layer.merge([devicePage, linkPage, consolePages]),
  Layer.provide([compressedJson, hubDeadlines, guardedRoutes]),
  Layer.provide(HttpServer.layerServices)
)
