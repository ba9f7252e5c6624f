/**
 * Allowlisted workspaces of an Edge, and their files: folders as pages, search by name, and the first part of a file. Paths outside of the
 * workspace are refused.
 */
import {
  FileEntry,
  FilePreview,
  FileQuery,
  FIND_TEXT,
  FoundFiles,
  Workspace,
  WorkspacePath
} from "../device/Workspace.ts"
import { responses } from "../errors/ErrorTable.ts"
import { Limit, listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { WorkspaceId } from "../identity/Ids.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

export class EdgeWorkspaces extends HttpApiGroup.make("workspaces")
  .add(HttpApiEndpoint.get("list", "/v1/workspaces", { success: page(Workspace) }))
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** Files of a workspace. */
export class EdgeFiles extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.get("files", "/v1/workspaces/:id/files", {
      params: { id: WorkspaceId },
      query: { ...listQuery, path: Schema.optionalKey(WorkspacePath) },
      success: page(FileEntry),
      error: responses(
        "workspace_outside_allowlist",
        "permission_denied",
        "not_found",
        "schema_validation_failed"
      )
    }),
    HttpApiEndpoint.get("file", "/v1/workspaces/:id/file", {
      params: { id: WorkspaceId },
      query: { path: WorkspacePath },
      success: FilePreview,
      error: responses("workspace_outside_allowlist", "permission_denied", "not_found")
    })
  )
  .add(
    HttpApiEndpoint.get("find", "/v1/workspaces/:id/find", {
      params: { id: WorkspaceId },
      query: { q: Schema.optionalKey(FileQuery), limit: Limit },
      success: FoundFiles,
      error: responses("permission_denied", "workspace_outside_allowlist", "schema_validation_failed")
    }).annotate(OpenApi.Description, FIND_TEXT)
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
