/** Worktrees of runs with `isolation: "worktree"`. They stay until a user removes them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunId } from "../identity/Ids.ts"
import { ExaminedWorktree, Worktree } from "../run/Worktree.ts"

const run = { id: RunId }

export class EdgeWorktrees extends HttpApiGroup.make("worktrees")
  .add(
    HttpApiEndpoint.get("list", "/v1/worktrees", {
      query: listQuery,
      success: page(Worktree),
      error: responses("schema_validation_failed")
    }).annotate(OpenApi.Description, "Worktrees that were not removed, newest first."),
    HttpApiEndpoint.get("get", "/v1/runs/:id/worktree", {
      params: run,
      success: ExaminedWorktree,
      error: responses("not_found")
    }),
    HttpApiEndpoint.delete("remove", "/v1/runs/:id/worktree", {
      params: run,
      query: { force: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: HttpApiSchema.NoContent,
      error: responses("not_found", "conflict", "schema_validation_failed")
    }).annotate(
      OpenApi.Description,
      "Removes the worktree. `conflict` while a run uses it, or if files or commits would be lost. `force=true` saves these under `refs/corral/<run>` of the repository first."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
