/** Approvals that runs of this Edge request, decisions on them, and grants that outlive a run. Users can list and revoke grants. */
import { Approval, ApprovalState, DecideApproval, originHeaders } from "../approval/Approval.ts"
import { Grant } from "../approval/Grant.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ApprovalId, GrantId, RunId, WorkspaceId } from "../identity/Ids.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

export class EdgePermissions extends HttpApiGroup.make("permissions")
  .add(
    HttpApiEndpoint.get("list", "/v1/permissions", {
      query: { ...listQuery, runId: Schema.optionalKey(RunId), state: Schema.optionalKey(ApprovalState) },
      success: page(Approval),
      error: responses("schema_validation_failed")
    }),
    HttpApiEndpoint.get("get", "/v1/permissions/:id", {
      params: { id: ApprovalId },
      success: Approval,
      error: responses("not_found")
    }),
    HttpApiEndpoint.post("decide", "/v1/permissions/decide", {
      headers: { ...idempotencyHeaders, ...originHeaders },
      payload: DecideApproval,
      success: Approval,
      error: responses(
        "not_found",
        "permission_denied",
        "approval_already_resolved",
        "approval_expired",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(OpenApi.Description, "The first valid decision wins. Repeating it returns the same approval.")
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** Grants that outlive a run. */
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
