/**
 * Reading the audit trail and checking its chain.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { AuditRecord, AuditVerification } from "../access/Audit.ts"
import { AuditAction } from "../access/AuditAction.ts"
import { responses } from "../errors/ErrorTable.ts"
import { ProjectId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { storable } from "../text/Text.ts"
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
    })
      .annotate(RequiredAuthority, "audit.read")
      .annotate(
        OpenApi.Description,
        "The trail of a project, for its admins; that of a deleted project stays readable for those who could read it. Without `projectId`: what the " +
          "caller did, in every project and outside of them, and what happened to their devices, sign-ins, keys and chat accounts. `from` and `to` " +
          "are ISO 8601 times, `to` exclusive."
      ),
    HttpApiEndpoint.get("export", "/client/audit/export", {
      query: { projectId },
      success: HttpApiSchema.StreamUint8Array({ contentType: "application/x-ndjson" }),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "audit.read")
      .annotate(
        OpenApi.Description,
        "The whole trail of a project, the first record first, one as JSON on each line: enough to follow the chain without this Hub. " +
          "Without `projectId`, the caller's own records of no project: their chain has other users' records in between."
      ),
    HttpApiEndpoint.get("verify", "/client/audit/verify", {
      query: { projectId },
      success: AuditVerification,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "audit.read")
      .annotate(
        OpenApi.Description,
        "Without `projectId`, the chain of all records that belong to no project."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
