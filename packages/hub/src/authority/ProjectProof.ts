/**
 * Proof that the caller may act in a project: the user's membership, which is the project's visibility and the user's role, and the
 * audit record where the caller may not.
 */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import { type Proof, prove, type RoleAction, roleRefusal } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import {
  type ApprovalId,
  type InputRequestId,
  ProjectId,
  type RunId,
  type SessionId,
  type UserId
} from "@corral/domain/identity/Ids"
import { Approvers, ProjectRole, ProjectVisibility } from "@corral/domain/project/Project"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Audit } from "../audit/Audit.ts"
import { storedRows } from "../store/StoredRows.ts"

const Membership = Schema.Struct({
  id: ProjectId,
  visibility: ProjectVisibility,
  role: Schema.NullOr(ProjectRole)
})
type Membership = typeof Membership.Type

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
const roleIn = ({ role, visibility }: Membership): ProjectRole | undefined =>
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

/**
 * With the policy of the run's project. The requesters are those of the runs of its change set that made something undecided; of `all` runs of the set,
 * if more than that is undone. Before the Edge has reported the set, they are those of the run and of the runs before it.
 */
export const findChangesPolicy = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  runId: RunId,
  runs: "all" | "undecided"
) {
  return yield* decisionPolicyRows.first(sql`
    ${selectMembership(sql, userId)}, p.approvers, p.own_requests, CASE WHEN s.id IS NULL
      THEN EXISTS (SELECT 1 FROM run_requesters q WHERE q.run_id = r.id AND q.user_id = ${userId})
      ELSE EXISTS (
        SELECT 1 FROM change_set_runs c JOIN run_requesters q ON q.run_id = c.run_id
        WHERE c.set_id = s.id AND q.user_id = ${userId} AND q.input <> 'earlier'
          AND (${runs === "all"} OR s.settled_run_id IS NULL OR c.run_id > s.settled_run_id)
      )
    END AS is_own
    FROM runs r JOIN projects p ON p.id = r.project_id
      LEFT JOIN change_set_runs o ON o.run_id = r.id LEFT JOIN change_sets s ON s.id = o.set_id
    WHERE r.id = ${runId}`)
})

/** A proof with its project and the role behind it. */
export type ProjectProof<A extends RoleAction> = Proof<A> & {
  readonly projectId: ProjectId
  readonly role: ProjectRole
}

interface Denial {
  readonly action: AuditAction
  readonly resource: string
  readonly projectId: ProjectId | null
  readonly code: "permission_denied" | "unauthorized_target"
  readonly details?: DecisionDetails | undefined
}

export const auditDenial = Effect.fnUntraced(function* (audit: Audit["Service"], denial: Denial) {
  const { userId: actor } = yield* CurrentPrincipal
  const requestId = yield* CurrentRequestId
  yield* audit.record({ ...denial, actor, requestId, outcome: "denied" })
})

interface ProofOptions {
  /** What the audit names; the project where it is absent. */
  readonly resource?: string | undefined
  readonly refusalOf?: ((role: ProjectRole | undefined) => PermissionDenied | undefined) | undefined
  readonly details?: DecisionDetails | undefined
  /** The action as the audit names it. */
  readonly recordedAs: AuditAction
}

/** Actions whose name is the audit's. */
export type NamedAction = RoleAction & AuditAction

/** Proves `action` by the caller's role. Without a membership the project is missing or forbidden. */
export const proveRole = Effect.fnUntraced(function* <A extends RoleAction>(
  audit: Audit["Service"],
  action: A,
  membership: Membership | undefined,
  { details, recordedAs, refusalOf = (role) => roleRefusal(action, role), resource }: ProofOptions
): Effect.fn.Return<
  ProjectProof<A>,
  PermissionDenied | SqlError.SqlError,
  CurrentPrincipal | CurrentRequestId
> {
  const { userId } = yield* CurrentPrincipal
  if (membership === undefined) return yield* new PermissionDenied()
  const { id: projectId } = membership
  const role = roleIn(membership)
  const proof = prove(action, { principal: userId, subject: projectId }, refusalOf(role))
  if (proof._tag === "Success" && role !== undefined) return { ...proof.success, projectId, role }
  yield* auditDenial(audit, {
    action: recordedAs,
    resource: resource ?? projectId,
    projectId,
    code: "permission_denied",
    details
  })
  return yield* proof._tag === "Failure" ? proof.failure : new PermissionDenied()
})
