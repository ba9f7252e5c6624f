/** The part of the contract that is served already. It goes when that is all of it. */
import { HubAudit } from "@corral/domain/hub-api/AuditTrail"
import { HubPublic } from "@corral/domain/hub-api/Public"
import { HttpApi } from "effect/http-api"

export const ServedApi = HttpApi.make("hub")
  .add(HubPublic, HubAudit)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
