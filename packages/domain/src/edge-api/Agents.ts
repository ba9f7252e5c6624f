/** Agents and runners that an Edge offers, and the presets (profiles and runners) that they are made of, with their settings. */
import { responses } from "../errors/ErrorTable.ts"
import { createdWithLocation, idempotencyHeaders } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { AgentId } from "../identity/Ids.ts"
import { Agent, Runner } from "../run/Agent.ts"
import { CreatePreset, Preset, UpdatePreset } from "../run/Preset.ts"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

export class EdgeAgents extends HttpApiGroup.make("agents")
  .add(
    HttpApiEndpoint.get("list", "/v1/agents", { success: page(Agent) }),
    HttpApiEndpoint.get("listRunners", "/v1/runners", { success: page(Runner) })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

const params = { id: AgentId }

/** Profiles and runners of an Edge, with their settings. */
export class EdgePresets extends HttpApiGroup.make("presets")
  .add(
    HttpApiEndpoint.get("list", "/v1/presets", {
      query: listQuery,
      success: page(Preset),
      error: responses("schema_validation_failed")
    }).annotate(OpenApi.Description, "Profiles and runners of the configuration file and of this API."),
    HttpApiEndpoint.post("create", "/v1/presets", {
      headers: idempotencyHeaders,
      payload: CreatePreset,
      success: createdWithLocation(Preset),
      error: responses(
        "conflict",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(
      OpenApi.Description,
      "Adds a profile or a runner, for the next run. Its settings are those of an entry in the configuration file, with the same checks. " +
        "`conflict` for an id of the file, and beyond 100 presets."
    ),
    HttpApiEndpoint.patch("update", "/v1/presets/:id", {
      params,
      payload: UpdatePreset,
      success: Preset,
      error: responses("not_found", "conflict", "schema_validation_failed", "overloaded")
    }).annotate(
      OpenApi.Description,
      "Changes settings; `null` removes one. Applies to runs that start later. `conflict` for an id of the configuration file, and for other settings " +
        "than `label`, `mode` and `model` while a run of it is in progress."
    ),
    HttpApiEndpoint.delete("remove", "/v1/presets/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: responses("not_found", "conflict", "overloaded")
    }).annotate(
      OpenApi.Description,
      "Removes the preset and the decisions that were remembered for it. `conflict` for an id of the configuration file, and while a run of it is in " +
        "progress."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
