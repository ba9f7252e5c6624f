/**
 * Files of workspaces that are linked to a project, read from their Edge.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { DeviceId, ProjectId, WorkspaceId } from "../identity/Ids.ts"
import { Limit, listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { isStorableText } from "../text/Text.ts"
import {
  FileEntry,
  FilePreview,
  FileQuery,
  FIND_TEXT,
  FoundFiles,
  WorkspacePath
} from "../device/Workspace.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: DeviceId, workspace: WorkspaceId.check(isStorableText) }
const path = WorkspacePath.check(isStorableText)
const error = responses(
  "permission_denied",
  "unauthorized_target",
  "workspace_outside_allowlist",
  "target_offline",
  "not_found",
  "payload_too_large",
  "overloaded",
  "schema_validation_failed"
)

export class HubFiles extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.get("folder", "/client/targets/:id/workspaces/:workspace/files", {
      params,
      query: { ...listQuery, projectId: ProjectId, path: Schema.optionalKey(path) },
      success: page(FileEntry),
      error
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Entries of a folder in a workspace that is linked to the project. Without `path`: its root. For members of the project, on their own " +
          "targets and targets shared with the project."
      ),
    HttpApiEndpoint.get("file", "/client/targets/:id/workspaces/:workspace/file", {
      params,
      query: { projectId: ProjectId, path },
      success: FilePreview,
      error
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "The first 1 MiB of a file in a workspace that is linked to the project."
      )
  )
  .add(
    HttpApiEndpoint.get("find", "/client/targets/:id/workspaces/:workspace/find", {
      params,
      query: { projectId: ProjectId, q: Schema.optionalKey(FileQuery.check(isStorableText)), limit: Limit },
      success: FoundFiles,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "workspace_outside_allowlist",
        "target_offline",
        "conflict",
        "overloaded",
        "schema_validation_failed"
      )
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        `${FIND_TEXT} Fails with \`conflict\` if the Edge of the device is too old.`
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
