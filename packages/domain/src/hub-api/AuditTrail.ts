/**
 * Reading the audit trail and checking its chain.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AuditRecord, AuditVerification } from "../Audit.ts"
import { AuditAction } from "../AuditAction.ts"
import { responses } from "../ErrorTable.ts"
import { ProjectId } from "../Ids.ts"
import { listQuery, page } from "../Page.ts"
import { RequestIds, SchemaErrors } from "../RequestContext.ts"
import { storable } from "../Text.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const text = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200), storable))
const projectId = Schema.optionalKey(ProjectId)

export class HubAudit extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/client/audit", {
      query: {
        ...listQuery,
        projectId,
        actor: text,
        action: Schema.optionalKey(AuditAction),
        from: text,
        to: text
      },
      success: page(AuditRecord),
      error: responses("permission_denied", "schema_validation_failed")
    }).annotate(
      OpenApi.Description,
      "The trail of a project, for its admins. Without `projectId`: what the caller did, in every project and outside of them. `from` and `to` are ISO 8601 times, `to` exclusive."
    ),
    HttpApiEndpoint.get("export", "/client/audit/export", {
      query: { projectId: ProjectId },
      success: HttpApiSchema.StreamUint8Array({ contentType: "application/x-ndjson" }),
      error: responses("permission_denied", "schema_validation_failed")
    }).annotate(
      OpenApi.Description,
      "The whole trail of a project, the first record first, one as JSON on each line: enough to follow the chain without this Hub."
    ),
    HttpApiEndpoint.get("verify", "/client/audit/verify", {
      query: { projectId },
      success: AuditVerification,
      error: responses("permission_denied")
    })
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
