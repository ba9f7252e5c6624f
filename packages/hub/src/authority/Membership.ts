/** A project as one user stands to it: its visibility and the user's role. */
import type { ApprovalId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { ProjectId } from "@corral/domain/identity/Ids"
import { Approvers, ProjectRole, ProjectVisibility } from "@corral/domain/project/Project"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowDecoder } from "../store/StoredRows.ts"

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

const decodeMemberships = rowDecoder(Membership)
const decodeDecisionPolicies = rowDecoder(DecisionPolicy)

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
  const rows = yield* sql`${selectMembership(sql, userId)} FROM projects p WHERE p.id = ${projectId}`
  return (yield* decodeMemberships(rows))[0]
})

/** The role that the user had when the project was removed. */
export const findInRemovedProject = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  projectId: ProjectId
) {
  const rows = yield* sql`
    SELECT project_id AS id, 'private' AS visibility, role FROM former_members
    WHERE project_id = ${projectId} AND user_id = ${userId}`
  return (yield* decodeMemberships(rows))[0]
})

export const findInProjectOfSession = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  sessionId: SessionId
) {
  const rows = yield* sql`
    ${selectMembership(sql, userId)} FROM sessions s JOIN projects p ON p.id = s.project_id WHERE s.id = ${sessionId}`
  return (yield* decodeMemberships(rows))[0]
})

/** With the policy of the approval's project. */
export const findDecisionPolicy = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  approvalId: ApprovalId
) {
  const rows = yield* sql`
    ${selectMembership(sql, userId)}, p.approvers, p.own_requests, EXISTS (
      SELECT 1 FROM run_requesters q WHERE q.run_id = a.run_id AND q.user_id = ${userId}
    ) AS is_own
    FROM approvals a JOIN projects p ON p.id = a.project_id WHERE a.id = ${approvalId}`
  return (yield* decodeDecisionPolicies(rows))[0]
})
