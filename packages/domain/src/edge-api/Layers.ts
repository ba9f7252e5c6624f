/** Layers of runs with `isolation: "overlay"`, which stay until a user removes them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunId, WorkspaceId } from "../identity/Ids.ts"
import { LayerMeans } from "../run/Run.ts"

/** A layer and its state. Its changes are those of its newest run. */
export const LayerSummary = Schema.Struct({
  /** The run that owns it. */
  runId: RunId,
  workspace: WorkspaceId,
  /** `active` while a run uses it, then `kept` until a user removes it. `removed`: its files are missing. */
  state: Schema.Literals(["active", "kept", "removed"]),
  means: LayerMeans,
  enforced: Schema.Boolean,
  createdAt: Schema.String
}).annotate({ identifier: "LayerSummary" })
export type LayerSummary = typeof LayerSummary.Type

export class EdgeLayers extends HttpApiGroup.make("layers")
  .add(
    HttpApiEndpoint.get("list", "/v1/layers", {
      query: listQuery,
      success: page(LayerSummary),
      error: responses("schema_validation_failed")
    }).annotate(OpenApi.Description, "Layers that were not removed, newest first."),
    HttpApiEndpoint.delete("remove", "/v1/runs/:id/layer", {
      params: { id: RunId },
      query: { force: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: HttpApiSchema.NoContent,
      error: responses("not_found", "conflict", "schema_validation_failed")
    }).annotate(
      OpenApi.Description,
      "Removes the layer of the run, and what is in it. `conflict` while a run uses it, or if it has changes that were neither accepted nor rejected. `force=true` removes these, too."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
