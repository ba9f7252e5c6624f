/** The part of the contract that is served already. It goes when that is all of it. */
import { HubAudit } from "@corral/domain/hub-api/AuditTrail"
import { HubDeviceRegistration, HubDevices } from "@corral/domain/hub-api/Devices"
import { HubProjects } from "@corral/domain/hub-api/Projects"
import { HubApiKeys, HubAuth, HubSignIn } from "@corral/domain/hub-api/Auth"
import { HubPublic } from "@corral/domain/hub-api/Public"
import { HubSessions } from "@corral/domain/hub-api/Sessions"
import { HttpApi } from "effect/http-api"

export const ServedApi = HttpApi.make("hub")
  .add(
    HubPublic,
    HubSignIn,
    HubAuth,
    HubApiKeys,
    HubSessions,
    HubProjects,
    HubDeviceRegistration,
    HubDevices,
    HubAudit
  )
  .annotate(HttpApi.ParseOptions, { errors: "all" })
