/** A user's membership in a project: the project's visibility and the user's role. */
import type { ApprovalId, InputRequestId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { ProjectId } from "@corral/domain/identity/Ids"
import { Approvers, ProjectRole, ProjectVisibility } from "@corral/domain/project/Project"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"

const Membership = Schema.Struct({
  id: ProjectId,
  visibility: ProjectVisibility,
  role: Schema.NullOr(ProjectRole)
})
export type Membership = typeof Membership.Type

const DecisionPolicy = Schema.Struct({
  ...Membership.fields,
  approvers: Approvers,
  own_requests: Schema.Boolean,
  /** Whether the user is a requester of the run. */
  is_own: Schema.Boolean
})

const membershipRows = storedRows("project_members", Membership)
const formerMembershipRows = storedRows("former_members", Membership)
const decisionPolicyRows = storedRows("projects", DecisionPolicy)

/** Rows of `project_members`: only the role. */
export const memberRoleRows = storedRows("project_members", Schema.Struct({ role: ProjectRole }))

/** Every signed-in user may read an internal project. */
export const roleIn = ({ role, visibility }: Membership): ProjectRole | undefined =>
  role ?? (visibility === "internal" ? "viewer" : undefined)

/** Columns of `Membership`, for a statement that names the table `projects` as `p`. */
const selectMembership = (sql: SqlClient.SqlClient, userId: UserId) => sql`
  SELECT p.id, p.visibility, (
    SELECT role FROM project_members WHERE project_id = p.id AND user_id = ${userId}
  ) AS role`

export const findInProject = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  projectId: ProjectId
) {
  return yield* membershipRows.first(
    sql`${selectMembership(sql, userId)} FROM projects p WHERE p.id = ${projectId}`
  )
})

/** The role that the user had when the project was removed. */
export const findInRemovedProject = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  projectId: ProjectId
) {
  return yield* formerMembershipRows.first(sql`
    SELECT project_id AS id, 'private' AS visibility, role FROM former_members
    WHERE project_id = ${projectId} AND user_id = ${userId}`)
})

export const findInProjectOfSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  sessionId: SessionId
) {
  return yield* membershipRows.first(sql`
    ${selectMembership(sql, userId)} FROM sessions s JOIN projects p ON p.id = s.project_id WHERE s.id = ${sessionId}`)
})

/** With the policy of the project of the approval or the plan. */
export const findDecisionPolicy = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  table: "approvals" | "inputs",
  id: ApprovalId | InputRequestId
) {
  return yield* decisionPolicyRows.first(sql`
    ${selectMembership(sql, userId)}, p.approvers, p.own_requests, EXISTS (
      SELECT 1 FROM run_requesters q WHERE q.run_id = a.run_id AND q.user_id = ${userId}
    ) AS is_own
    FROM ${sql.literal(table)} a JOIN projects p ON p.id = a.project_id WHERE a.id = ${id}`)
})
