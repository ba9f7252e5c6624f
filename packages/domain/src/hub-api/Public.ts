/**
 * Public endpoints of a Hub: readiness, liveness, the status of each layer, and counts.
 */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import {
  Liveness,
  PublicHealth,
  PublicNotReady,
  PublicStats,
  PublicStatus,
  PublicStatusNotReady
} from "../http/Health.ts"
import { RequestIds } from "../http/RequestContext.ts"

export class HubPublic extends HttpApiGroup.make("public")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: PublicHealth, error: PublicNotReady }).annotate(
      RequiredAuthority,
      "public.read"
    ),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness }).annotate(
      RequiredAuthority,
      "public.read"
    ),
    HttpApiEndpoint.get("publicHealth", "/api/public/health", {
      success: PublicStatus,
      error: PublicStatusNotReady
    }).annotate(RequiredAuthority, "public.read"),
    HttpApiEndpoint.get("publicStats", "/api/public/stats", { success: PublicStats }).annotate(
      RequiredAuthority,
      "public.read"
    )
  )
  .middleware(RequestIds) {}
