/** Changes of a run, compared with the workspace at its start. */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunId } from "../identity/Ids.ts"
import { Diff } from "./Diff.ts"

export class EdgeDiffs extends HttpApiGroup.make("diffs")
  .add(
    HttpApiEndpoint.get("diff", "/v1/runs/:id/diff", {
      params: { id: RunId },
      query: listQuery,
      success: Diff,
      error: responses(
        "not_found",
        "changes_unknown",
        "workspace_outside_allowlist",
        "permission_denied",
        "schema_validation_failed"
      )
    })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
