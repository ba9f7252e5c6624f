/**
 * Projects: users who work together, and the workspaces of targets that they share.
 */
import { Schema } from "effect"
import { DeviceId, ProjectId, UserId, WorkspaceId } from "../identity/Ids.ts"
import { TimeZone } from "../preference/Preferences.ts"
import { Budget, RequestedBudget, RunDuration } from "../run/Budget.ts"
import { Checks } from "../run/Check.ts"
import { CreateRun } from "../run/Run.ts"
import { isStorableText, oneLine } from "../text/Text.ts"
import { Isolation } from "../run/Run.ts"

/** Role of a member, weakest first. A role includes the rights of the weaker ones. `Authorization` has the rights. */
export const ProjectRole = Schema.Literals(["viewer", "member", "admin", "owner"])
export type ProjectRole = typeof ProjectRole.Type

/** Readers of a project. `private`: only members. `internal`: all users who can sign in. */
export const ProjectVisibility = Schema.Literals(["private", "internal"])
export type ProjectVisibility = typeof ProjectVisibility.Type

const name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), isStorableText)
const description = Schema.String.check(Schema.isMaxLength(4_096), isStorableText)

/** Weakest role that can decide approvals. */
export const Approvers = Schema.Literals(["member", "admin", "owner"])
export type Approvers = typeof Approvers.Type

/** Users who can decide approvals of a project's runs. */
export const ApprovalPolicy = Schema.Struct({
  approvers: Approvers,
  /** Whether a user can decide approvals of their own tasks. */
  ownRequests: Schema.Boolean
}).annotate({ identifier: "ApprovalPolicy" })
export type ApprovalPolicy = typeof ApprovalPolicy.Type

/** Default policy of a project. */
export const defaultApprovals: ApprovalPolicy = { approvers: "member", ownRequests: true }

/**
 * Chats that receive the text of an agent's answer. `none`: no chat. `direct`: only the direct chat of the user who wrote. `all`: groups as well,
 * whose members may not be members of the project.
 */
export const ChatAnswers = Schema.Literals(["none", "direct", "all"])
export type ChatAnswers = typeof ChatAnswers.Type

/** What of a project's runs is sent to chats besides cards. */
export const ChatPolicy = Schema.Struct({ answers: ChatAnswers }).annotate({ identifier: "ChatPolicy" })
export type ChatPolicy = typeof ChatPolicy.Type

/** Default policy of a project. */
export const defaultChats: ChatPolicy = { answers: "direct" }

const { backgroundMs, inputTtlMs, isolation } = CreateRun.fields

/**
 * Limits and folder of a project's runs that do not have others. Absent: the Edge's limit, no expiry, and no isolation. A run that resumes
 * another one uses that run's folder.
 */
export const RunDefaults = Schema.Struct({ backgroundMs, inputTtlMs, isolation }).annotate({
  identifier: "RunDefaults"
})
export type RunDefaults = typeof RunDefaults.Type

/** A project, as one caller sees it. Times are ISO 8601. */
export const Project = Schema.Struct({
  id: ProjectId,
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  visibility: ProjectVisibility,
  approvals: ApprovalPolicy,
  chats: ChatPolicy,
  /** Absent in answers of earlier versions. */
  runs: Schema.optionalKey(RunDefaults),
  /** Commands that are executed after the turns of candidates. Absent if there are none. */
  checks: Schema.optionalKey(Checks),
  /** Time zone of the project's days, as an IANA name. Absent in answers of earlier versions. */
  timeZone: Schema.optionalKey(Schema.String),
  /** What a run reserves under a limit where its own budget has no such limit. */
  runBudget: Schema.optionalKey(Budget),
  /** Role of the caller. */
  role: ProjectRole,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "Project" })
export type Project = typeof Project.Type

/** Body of POST /client/projects. */
export const CreateProject = Schema.Struct({
  name,
  description: Schema.optionalKey(description),
  visibility: Schema.optionalKey(ProjectVisibility)
}).annotate({ identifier: "CreateProject" })
export type CreateProject = typeof CreateProject.Type

/** Body of PATCH /client/projects/{id}. Absent fields do not change. */
export const UpdateProject = Schema.Struct({
  name: Schema.optionalKey(name),
  description: Schema.optionalKey(description),
  visibility: Schema.optionalKey(ProjectVisibility),
  /** Absent fields do not change. */
  approvals: Schema.optionalKey(
    Schema.Struct({
      approvers: Schema.optionalKey(Approvers),
      ownRequests: Schema.optionalKey(Schema.Boolean)
    })
  ),
  chats: Schema.optionalKey(Schema.Struct({ answers: Schema.optionalKey(ChatAnswers) })),
  /** All checks of the project. */
  checks: Schema.optionalKey(Checks),
  /** `null` removes a default. */
  runs: Schema.optionalKey(
    Schema.Struct({
      backgroundMs: Schema.optionalKey(Schema.NullOr(RunDuration)),
      inputTtlMs: Schema.optionalKey(Schema.NullOr(RunDuration)),
      isolation: Schema.optionalKey(Schema.NullOr(Isolation))
    })
  ),
  /** Holds for runs that start later. */
  timeZone: Schema.optionalKey(TimeZone),
  /** Replaces the whole budget. `null` removes it. Refused if a limit needs what would be missing. */
  runBudget: Schema.optionalKey(Schema.NullOr(RequestedBudget))
}).annotate({ identifier: "UpdateProject" })
export type UpdateProject = typeof UpdateProject.Type

/** A member of a project. */
export const ProjectMember = Schema.Struct({
  userId: UserId,
  name: Schema.String,
  role: ProjectRole,
  addedAt: Schema.String
}).annotate({ identifier: "ProjectMember" })
export type ProjectMember = typeof ProjectMember.Type

/**
 * Body of POST /client/projects/{id}/members: the role, and the user by id or by an email address that the identity provider has verified.
 * Exactly one of the two is required.
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

/** A workspace of a target that members of the project may use. */
export const WorkspaceLink = Schema.Struct({
  targetId: DeviceId,
  workspace: WorkspaceId,
  addedBy: UserId,
  addedAt: Schema.String
}).annotate({ identifier: "WorkspaceLink" })
export type WorkspaceLink = typeof WorkspaceLink.Type

/** Body of POST /client/projects/{id}/workspaces. */
export const LinkWorkspace = Schema.Struct({
  targetId: DeviceId,
  workspace: WorkspaceId.check(isStorableText)
}).annotate({ identifier: "LinkWorkspace" })
export type LinkWorkspace = typeof LinkWorkspace.Type
