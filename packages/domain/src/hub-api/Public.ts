/**
 * What anyone may read of a Hub: whether it lives, and counts.
 */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { PublicHealth, PublicStats } from "../Health.ts"
import { RequestIds } from "../RequestContext.ts"

export class HubPublic extends HttpApiGroup.make("public")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: PublicHealth }),
    HttpApiEndpoint.get("publicHealth", "/api/public/health", { success: PublicHealth }),
    HttpApiEndpoint.get("publicStats", "/api/public/stats", { success: PublicStats })
  )
  .middleware(RequestIds) {}
