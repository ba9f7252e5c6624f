/** The link of this Edge to its Hub. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { LinkReadiness } from "../http/Health.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"

export class EdgeHubLink extends HttpApiGroup.make("link")
  .add(
    HttpApiEndpoint.post("rotate", "/v1/link/rotate", {
      success: LinkReadiness,
      error: responses("conflict", "overloaded")
    }).annotate(
      OpenApi.Description,
      "Replaces the key of this device at its Hub. The old key is no longer valid. `conflict` if the Edge is not linked to a Hub."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
