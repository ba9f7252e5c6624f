/** Artifacts of runs, with their content. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ArtifactId, RunId } from "../identity/Ids.ts"
import { createdWithLocation, idempotencyHeaders } from "../http/Writes.ts"
import { Artifact, PublishArtifact } from "../run/Artifact.ts"

export class EdgeArtifacts extends HttpApiGroup.make("artifacts")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs/:id/artifacts", {
      params: { id: RunId },
      query: listQuery,
      success: page(Artifact),
      error: responses("not_found", "schema_validation_failed")
    }),
    HttpApiEndpoint.post("publish", "/v1/runs/:id/artifacts", {
      params: { id: RunId },
      headers: idempotencyHeaders,
      payload: PublishArtifact,
      success: createdWithLocation(Artifact),
      error: responses(
        "not_found",
        "conflict",
        "workspace_outside_allowlist",
        "permission_denied",
        "payload_too_large",
        "changes_unknown",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(
      OpenApi.Description,
      "Stores a file of a live run's folder as an artifact, as it is now. At most 50 MiB, and 100 in a run. Git's files and files that hold credentials are refused with `permission_denied`; `conflict` if the run has not started or has ended, or has all of its artifacts."
    ),
    HttpApiEndpoint.get("get", "/v1/artifacts/:id", {
      params: { id: ArtifactId },
      success: Artifact,
      error: responses("not_found")
    }),
    HttpApiEndpoint.get("content", "/v1/artifacts/:id/content", {
      params: { id: ArtifactId },
      success: HttpApiSchema.StreamUint8Array(),
      error: responses("not_found")
    }).annotate(
      OpenApi.Description,
      "The content as an attachment with the artifact's media type. A single satisfiable `Range` returns 206; other ranges are ignored."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
