/** Previews of folders and ports of an Edge. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { CreatePreview, OpenedPreview, Preview } from "../device/Preview.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdWithLocation, idempotencyHeaders } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { PreviewId, RunId } from "../identity/Ids.ts"

export class EdgePreviews extends HttpApiGroup.make("previews")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs/:id/previews", {
      params: { id: RunId },
      query: listQuery,
      success: page(Preview),
      error: responses("not_found", "schema_validation_failed")
    }),
    HttpApiEndpoint.post("create", "/v1/previews", {
      headers: idempotencyHeaders,
      payload: CreatePreview,
      success: createdWithLocation(OpenedPreview),
      error: responses(
        "workspace_outside_allowlist",
        "permission_denied",
        "not_found",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(
      OpenApi.Description,
      "A repeated idempotency key returns the same preview with a new `url`, or `not_found` if the preview is closed."
    ),
    HttpApiEndpoint.get("get", "/v1/previews/:id", {
      params: { id: PreviewId },
      success: OpenedPreview,
      error: responses("not_found")
    }),
    HttpApiEndpoint.delete("remove", "/v1/previews/:id", {
      params: { id: PreviewId },
      success: HttpApiSchema.NoContent,
      error: responses("not_found")
    })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
