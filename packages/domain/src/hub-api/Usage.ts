/** Use of runs and its limits. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ProjectId } from "../identity/Ids.ts"
import { LimitSubject, ProjectLimit, ProjectLimits, SetLimit } from "../usage/Limit.ts"
import { usageQuery, UsageReport } from "../usage/UsageReport.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const limit = { id: ProjectId, subject: LimitSubject }
const report = responses("permission_denied", "schema_validation_failed")

export class HubUsage extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("report", "/client/usage", { query: usageQuery, success: UsageReport, error: report })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Tokens and cost of the runs in projects that the caller may read, summed by the dimensions of `by`. A run counts for the day of its start, in " +
          "the time zone of its project then. Runs that start at an Edge without the Hub are not part of it."
      ),
    HttpApiEndpoint.get("csv", "/client/usage/csv", {
      query: usageQuery,
      success: HttpApiSchema.StreamUint8Array({ contentType: ["text/csv"] }),
      error: report
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "The rows of the usage as a file with a header line. A text that a spreadsheet would take for a formula begins with an apostrophe."
      ),
    HttpApiEndpoint.get("limits", "/client/projects/:id/limits", {
      params: { id: ProjectId },
      success: ProjectLimits,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.put("setLimit", "/client/projects/:id/limits/:subject", {
      params: limit,
      payload: SetLimit,
      success: ProjectLimit,
      error: responses("permission_denied", "schema_validation_failed", "conflict")
    })
      .annotate(RequiredAuthority, "policy.manage")
      .annotate(
        OpenApi.Description,
        "Sets what runs may use per day. `schema_validation_failed` if the project's `runBudget` has no limit of the same kind, which a run without a " +
          "budget reserves. `conflict` if the subject is not a project member. Holds for runs that start later."
      ),
    HttpApiEndpoint.delete("removeLimit", "/client/projects/:id/limits/:subject", {
      params: limit,
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied")
    }).annotate(RequiredAuthority, "policy.manage")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
