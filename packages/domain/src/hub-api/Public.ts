/**
 * Public reads of a Hub: readiness, liveness and counts.
 */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Liveness, PublicHealth, PublicNotReady, PublicStats } from "../http/Health.ts"
import { RequestIds } from "../http/RequestContext.ts"

export class HubPublic extends HttpApiGroup.make("public")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: PublicHealth, error: PublicNotReady }),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness }),
    HttpApiEndpoint.get("publicHealth", "/api/public/health", {
      success: PublicHealth,
      error: PublicNotReady
    }),
    HttpApiEndpoint.get("publicStats", "/api/public/stats", { success: PublicStats })
  )
  .middleware(RequestIds) {}
