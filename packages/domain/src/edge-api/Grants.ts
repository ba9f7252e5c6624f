/** Grants that outlive a run. Users can list and revoke them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Grant } from "../approval/Grant.ts"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { GrantId, WorkspaceId } from "../identity/Ids.ts"

export class EdgeGrants extends HttpApiGroup.make("grants")
  .add(
    HttpApiEndpoint.get("list", "/v1/grants", {
      query: { ...listQuery, workspace: Schema.optionalKey(WorkspaceId) },
      success: page(Grant),
      error: responses("schema_validation_failed")
    }),
    HttpApiEndpoint.delete("remove", "/v1/grants/:id", {
      params: { id: GrantId },
      success: HttpApiSchema.NoContent,
      error: responses("not_found")
    }).annotate(OpenApi.Description, "Revokes the grant, also for runs in progress.")
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
