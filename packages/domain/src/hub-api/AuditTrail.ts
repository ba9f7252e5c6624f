/**
 * Audit trail: list, export and verification of its chain.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { AuditRecord, AuditVerification } from "../access/Audit.ts"
import { AuditAction } from "../access/AuditAction.ts"
import { responses } from "../errors/ErrorTable.ts"
import { ProjectId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { isStorableText } from "../text/Text.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const text = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200), isStorableText))
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
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Records of a project, for its admins. They can read the records of a deleted project too. Without `projectId`: all actions of the " +
          "caller, and all actions on their devices, sign-ins, API keys and chat accounts. `from` and `to` are ISO 8601 times; `to` is " +
          "exclusive."
      ),
    HttpApiEndpoint.get("export", "/client/audit/export", {
      query: { projectId },
      success: HttpApiSchema.StreamUint8Array({ contentType: "application/x-ndjson" }),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "audit.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "All records of a project, oldest first, as one JSON object per line. The chain can be verified from them without this Hub. Without " +
          "`projectId`: the caller's records without a project. Their chains also contain records of other users, which are not exported."
      ),
    HttpApiEndpoint.get("verify", "/client/audit/verify", {
      query: { projectId },
      success: AuditVerification,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "audit.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Verifies the chain of a project. Without `projectId`: the chains of all records without a project."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
