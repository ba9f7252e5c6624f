/** Artifacts of runs, with their content. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ArtifactId, RunId } from "../identity/Ids.ts"
import { Artifact } from "../run/Artifact.ts"

export class EdgeArtifacts extends HttpApiGroup.make("artifacts")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs/:id/artifacts", {
      params: { id: RunId },
      query: listQuery,
      success: page(Artifact),
      error: responses("not_found", "schema_validation_failed")
    }),
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
