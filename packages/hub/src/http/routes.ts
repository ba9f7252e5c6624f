/** All HTTP routes of the Hub, with what their middleware stands on. The guard has run before any of this. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { SchemaErrors } from "@corral/domain/http/RequestContext"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { Layer } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { apiKeys } from "./ApiKeys.ts"
import { approvals } from "./Approvals.ts"
import { auditTrail } from "./AuditTrail.ts"
import { auth } from "./Auth.ts"
import { authentication, gatewayAuthentication } from "./Authentication.ts"
import { chatBindings } from "./ChatBindings.ts"
import { consolePages } from "./Console.ts"
import { deviceRegistration } from "./DeviceRegistration.ts"
import { devicePage } from "./DevicePage.ts"
import { devices } from "./Devices.ts"
import { files } from "./Files.ts"
import { integrations } from "./Integrations.ts"
import { linkPage } from "./LinkPage.ts"
import { news } from "./News.ts"
import { projects } from "./Projects.ts"
import { publicReads } from "./Public.ts"
import { runs } from "./Runs.ts"
import { sessions } from "./Sessions.ts"
import { signIn } from "./SignIn.ts"
import { tasks } from "./Tasks.ts"

export const routes = HttpApiBuilder.layer(HubApi).pipe(
  Layer.provide([
    publicReads,
    signIn,
    auth,
    apiKeys,
    sessions,
    projects,
    deviceRegistration,
    devices,
    files,
    tasks,
    runs,
    approvals,
    news,
    integrations,
    chatBindings,
    auditTrail
  ]),
  Layer.provide([SchemaErrors.layer, requestIds, authentication, gatewayAuthentication]),
  Layer.merge([devicePage, linkPage, consolePages]),
  Layer.provide(HttpServer.layerServices)
)
