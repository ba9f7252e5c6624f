/**
 * Approvals of all runs that the caller may see. The first valid decision wins, wherever it is made.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { ApprovalState, originHeaders } from "../approval/Approval.ts"
import { responses } from "../errors/ErrorTable.ts"
import { DecideHubApproval, HubApproval } from "./HubRun.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { ApprovalId, ProjectId, RunId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

export class HubApprovals extends HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("list", "/client/approvals", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        runId: Schema.optionalKey(RunId),
        state: Schema.optionalKey(ApprovalState)
      },
      success: page(HubApproval),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("get", "/client/approvals/:id", {
      params: { id: ApprovalId },
      success: HubApproval,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("decide", "/client/approvals/:id/decide", {
      params: { id: ApprovalId },
      headers: { ...idempotencyHeaders, ...originHeaders },
      payload: DecideHubApproval,
      success: HubApproval,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "target_offline",
        "overloaded",
        "approval_already_resolved",
        "approval_expired",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    }).annotate(RequiredAuthority, "approval.decide")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
