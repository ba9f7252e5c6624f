/** Allowlisted workspaces of an Edge. */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Workspace } from "../device/Workspace.ts"
import { page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"

export class EdgeWorkspaces extends HttpApiGroup.make("workspaces")
  .add(HttpApiEndpoint.get("list", "/v1/workspaces", { success: page(Workspace) }))
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
