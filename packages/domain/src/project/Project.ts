/**
 * A project: who works together, and on which workspaces of which targets.
 */
import { Schema } from "effect"
import { DeviceId, ProjectId, UserId, WorkspaceId } from "../identity/Ids.ts"
import { oneLine } from "../text/OneLine.ts"
import { storable } from "../text/Text.ts"

/** Weakest first; each may do what the ones before it may. `Authorization` says what. */
export const ProjectRole = Schema.Literals(["viewer", "member", "admin", "owner"])
export type ProjectRole = typeof ProjectRole.Type

/** `private`: members only. `internal`: everyone who can sign in may read. */
export const ProjectVisibility = Schema.Literals(["private", "internal"])
export type ProjectVisibility = typeof ProjectVisibility.Type

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), storable)
const description = Schema.String.check(Schema.isMaxLength(4_096), storable)

/** The weakest role whose holders decide approvals. */
export const Approvers = Schema.Literals(["member", "admin", "owner"])
export type Approvers = typeof Approvers.Type

/** Who decides the approvals of a project's runs. */
export const ApprovalPolicy = Schema.Struct({
  approvers: Approvers,
  /** Whether a person may decide what a task of their own asks for. */
  ownRequests: Schema.Boolean
}).annotate({ identifier: "ApprovalPolicy" })
export type ApprovalPolicy = typeof ApprovalPolicy.Type

/** Default policy of a project. */
export const defaultApprovals: ApprovalPolicy = { approvers: "member", ownRequests: true }

export const Project = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  visibility: ProjectVisibility,
  approvals: ApprovalPolicy,
  /** The caller's own role. */
  role: ProjectRole,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "Project" })
export type Project = typeof Project.Type

export const CreateProject = Schema.Struct({
  name,
  description: Schema.optionalKey(description),
  visibility: Schema.optionalKey(ProjectVisibility)
}).annotate({ identifier: "CreateProject" })
export type CreateProject = typeof CreateProject.Type

export const UpdateProject = Schema.Struct({
  name: Schema.optionalKey(name),
  description: Schema.optionalKey(description),
  visibility: Schema.optionalKey(ProjectVisibility),
  /** What is left out stays as it is. */
  approvals: Schema.optionalKey(
    Schema.Struct({
      approvers: Schema.optionalKey(Approvers),
      ownRequests: Schema.optionalKey(Schema.Boolean)
    })
  )
}).annotate({ identifier: "UpdateProject" })
export type UpdateProject = typeof UpdateProject.Type

export const ProjectMember = Schema.Struct({
  userId: UserId,
  name: Schema.String,
  role: ProjectRole,
  addedAt: Schema.String
}).annotate({ identifier: "ProjectMember" })
export type ProjectMember = typeof ProjectMember.Type

/**
 * POST /client/projects/{id}/members: who, by the id that they see of themselves or by the address that the identity provider vouches
 * for, and as what.
 */
export const AddMember = Schema.Struct({
  userId: Schema.optionalKey(UserId),
  email: Schema.optionalKey(oneLine(200)),
  role: ProjectRole
})
  .check(
    Schema.makeFilter(
      ({ email, userId }: { readonly email?: string; readonly userId?: string }) =>
        (email === undefined) !== (userId === undefined),
      { expected: "either a userId or an email" }
    )
  )
  .annotate({ identifier: "AddMember" })
export type AddMember = typeof AddMember.Type

/** A workspace of a target that the project may use. */
export const WorkspaceLink = Schema.Struct({
  targetId: DeviceId,
  workspace: WorkspaceId,
  addedBy: UserId,
  addedAt: Schema.String
}).annotate({ identifier: "WorkspaceLink" })
export type WorkspaceLink = typeof WorkspaceLink.Type

/** POST /client/projects/{id}/workspaces. */
export const LinkWorkspace = Schema.Struct({
  targetId: DeviceId,
  workspace: WorkspaceId.check(storable)
}).annotate({ identifier: "LinkWorkspace" })
export type LinkWorkspace = typeof LinkWorkspace.Type
