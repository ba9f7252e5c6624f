/**
 * Projects, their members and the workspaces linked to them.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse, idempotencyHeaders } from "../http/Writes.ts"
import { DeviceId, ProjectId, UserId, WorkspaceId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import {
  AddMember,
  CreateProject,
  LinkWorkspace,
  Project,
  ProjectMember,
  ProjectRole,
  UpdateProject,
  WorkspaceLink
} from "../project/Project.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { isStorableText } from "../text/Text.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: ProjectId }
const member = { id: ProjectId, userId: UserId }
const denied = responses("permission_denied")
const list = responses("permission_denied", "schema_validation_failed")
const change = responses("permission_denied", "conflict")

export class HubProjects extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("list", "/client/projects", {
      query: listQuery,
      success: page(Project),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("create", "/client/projects", {
      headers: idempotencyHeaders,
      payload: CreateProject,
      success: Project.pipe(createdResponse),
      error: responses("permission_denied", "idempotency_conflict", "idempotency_in_flight")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.get("get", "/client/projects/:id", { params, success: Project, error: denied })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.patch("update", "/client/projects/:id", {
      params,
      payload: UpdateProject,
      success: Project,
      error: responses("permission_denied", "conflict", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "project.update")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.delete("remove", "/client/projects/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "project.delete")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "`conflict` while runs are in progress; `details.runs` has up to 20 of them. The audit trail of the project is kept."
      ),
    HttpApiEndpoint.get("members", "/client/projects/:id/members", {
      params,
      query: listQuery,
      success: page(ProjectMember),
      error: list
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("addMember", "/client/projects/:id/members", {
      params,
      payload: AddMember,
      success: ProjectMember.pipe(createdResponse),
      error: change
    }).annotate(RequiredAuthority, "member.manage"),
    HttpApiEndpoint.patch("updateMember", "/client/projects/:id/members/:userId", {
      params: member,
      payload: Schema.Struct({ role: ProjectRole }),
      success: ProjectMember,
      error: change
    }).annotate(RequiredAuthority, "member.manage"),
    HttpApiEndpoint.delete("removeMember", "/client/projects/:id/members/:userId", {
      params: member,
      success: HttpApiSchema.NoContent,
      error: change
    }).annotate(RequiredAuthority, "member.manage"),
    HttpApiEndpoint.get("workspaces", "/client/projects/:id/workspaces", {
      params,
      query: listQuery,
      success: page(WorkspaceLink),
      error: list
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("linkWorkspace", "/client/projects/:id/workspaces", {
      params,
      payload: LinkWorkspace,
      success: WorkspaceLink.pipe(createdResponse),
      error: responses("permission_denied", "unauthorized_target", "conflict")
    })
      .annotate(RequiredAuthority, "device.manage")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.delete("unlinkWorkspace", "/client/projects/:id/workspaces/:targetId/:workspace", {
      params: { id: ProjectId, targetId: DeviceId, workspace: WorkspaceId.check(isStorableText) },
      success: HttpApiSchema.NoContent,
      error: denied
    })
      .annotate(RequiredAuthority, "device.manage")
      .annotate(KeyScope, "write")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
