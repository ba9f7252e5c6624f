/** Readiness and liveness. Details require a token. */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { EdgeNotReady, EdgeReadiness, Liveness } from "../http/Health.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"

export class EdgeHealth extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: EdgeReadiness, error: EdgeNotReady }),
    HttpApiEndpoint.get("v1Health", "/v1/health", { success: EdgeReadiness, error: EdgeNotReady }),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness })
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}
