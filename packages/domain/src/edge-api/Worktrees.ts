/**
 * What a run left in files: its changes, compared with the workspace at its start; worktrees of runs with `isolation: "worktree"` and layers of
 * runs with `isolation: "overlay"`, which stay until a user removes them; and the repository of other runs.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunId, WorkspaceId } from "../identity/Ids.ts"
import { LayerMeans } from "../run/Run.ts"
import { ExaminedWorktree, Worktree, WorktreeCommit } from "../run/Worktree.ts"
import { Diff } from "./Diff.ts"

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
    HttpApiEndpoint.get("commits", "/v1/runs/:id/worktree/commits", {
      params: run,
      success: Schema.Struct({ items: Schema.Array(WorktreeCommit) }),
      error: responses("not_found", "conflict")
    }).annotate(
      OpenApi.Description,
      "The newest 100 commits of the worktree as it is now, newest first. The branch in the workspace's repository has those of the last turn."
    ),
    HttpApiEndpoint.post("restoreRepository", "/v1/runs/:id/repository/restore", {
      params: run,
      success: HttpApiSchema.NoContent,
      error: responses("not_found", "conflict")
    }).annotate(
      OpenApi.Description,
      "Puts back the refs, the checked out branch, the index and other files of git that a run in the workspace itself changed without an approved git command. `conflict` while the run is live, or if they have changed since."
    ),
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

export class EdgeDiffs extends HttpApiGroup.make("diffs")
  .add(
    HttpApiEndpoint.get("diff", "/v1/runs/:id/diff", {
      params: run,
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
      params: run,
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
