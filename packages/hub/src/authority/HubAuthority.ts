/**
 * Whether somebody may do something: in a project or one of its sessions by the role that they hold, with a device as its owner or as
 * somebody whom it is shared with. Looked up each time; what comes of it is the proof that services ask for.
 *
 * What a person may not read and what is not there get the same refusal, after the same look-up. Refusals are audited where there is a
 * project to audit them in; those about devices among what the caller did, whether there is such a device or not.
 */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import {
  decisionRefusal,
  type Proof,
  prove,
  type RoleAction,
  roleRefusal
} from "@corral/domain/access/Authorization"
import { PermissionDenied, UnauthorizedTarget } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { ApprovalId, DeviceId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { Approvers, ProjectRole, ProjectVisibility } from "@corral/domain/project/Project"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { routableBy } from "./Routable.ts"

/** A proof that names its project and the role that it rests on. */
export type ProjectProof<A extends RoleAction> = Proof<A> & {
  readonly projectId: ProjectId
  readonly role: ProjectRole
}

/**
 * Who asks is told by the request.
 *
 * @effect-expect-leaking CurrentPrincipal | CurrentRequestId
 */
export class HubAuthority extends Context.Service<
  HubAuthority,
  {
    /** That the caller may do `action` in the project. `resource` is what the audit names; the project itself where it is absent. */
    readonly inProject: <A extends RoleAction>(
      action: A,
      projectId: ProjectId,
      resource?: string
    ) => Effect.Effect<
      ProjectProof<A>,
      PermissionDenied | SqlError.SqlError,
      CurrentPrincipal | CurrentRequestId
    >
    /** That the caller may do `action` in the project to which the session belongs; the proof's subject is that project. */
    readonly inSession: <A extends RoleAction>(
      action: A,
      sessionId: SessionId
    ) => Effect.Effect<
      ProjectProof<A>,
      PermissionDenied | SqlError.SqlError,
      CurrentPrincipal | CurrentRequestId
    >
    /** That the caller may decide the approval, as the policy of its project has it. */
    readonly overApproval: (
      approvalId: ApprovalId,
      /** The decision that is tried, for the record of a refusal. */
      details?: DecisionDetails
    ) => Effect.Effect<
      ProjectProof<"approval.decide">,
      PermissionDenied | SqlError.SqlError,
      CurrentPrincipal | CurrentRequestId
    >
    /** That the device is the caller's own. */
    readonly overDevice: (
      deviceId: DeviceId
    ) => Effect.Effect<
      Proof<"device.manage">,
      PermissionDenied | SqlError.SqlError,
      CurrentPrincipal | CurrentRequestId
    >
    /** That the caller may route to the device. Whether it is present is asked when something is sent. */
    readonly toTarget: (
      deviceId: DeviceId
    ) => Effect.Effect<
      Proof<"task.route">,
      UnauthorizedTarget | SqlError.SqlError,
      CurrentPrincipal | CurrentRequestId
    >
  }
>()("corral/hub/Authority") {
  static readonly layer = Layer.effect(
    HubAuthority,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit

      const deny = Effect.fnUntraced(function* (
        action: RoleAction | "task.route",
        resource: string,
        projectId: ProjectId | null,
        code: "permission_denied" | "unauthorized_target",
        details?: DecisionDetails
      ) {
        const { userId: actor } = yield* CurrentPrincipal
        const requestId = yield* CurrentRequestId
        yield* audit.record({
          action,
          resource,
          projectId,
          actor,
          requestId,
          outcome: "denied",
          code,
          details
        })
      })

      /** `row` is the project as the caller stands to it; undefined where there is none. */
      const judge = Effect.fnUntraced(function* <A extends RoleAction>(
        action: A,
        row: Row | undefined,
        resource: string | undefined,
        refusalOf = (role: ProjectRole | undefined) => roleRefusal(action, role),
        details?: DecisionDetails
      ) {
        const { userId } = yield* CurrentPrincipal
        if (row === undefined) return yield* new PermissionDenied()
        const role = heldOf(row)
        const proof = prove(action, { principal: userId, subject: row.id }, refusalOf(role))
        if (proof._tag === "Success" && role !== undefined)
          return { ...proof.success, projectId: row.id, role }
        yield* deny(action, resource ?? row.id, row.id, "permission_denied", details)
        return yield* proof._tag === "Failure" ? proof.failure : new PermissionDenied()
      })

      const standing = (userId: string) => sql`
        SELECT p.id, p.visibility, (
          SELECT role FROM project_members WHERE project_id = p.id AND user_id = ${userId}
        ) AS role`

      return HubAuthority.of({
        inProject: Effect.fnUntraced(function* (action, projectId, resource) {
          const { userId } = yield* CurrentPrincipal
          const [row] = yield* sql<Row>`${standing(userId)} FROM projects p WHERE p.id = ${projectId}`
          // The trail outlives its project, for those who could read it.
          const [former] =
            row === undefined && action === "audit.read"
              ? yield* sql<Row>`
                  SELECT project_id AS id, 'private' AS visibility, role FROM former_members
                  WHERE project_id = ${projectId} AND user_id = ${userId}`
              : []
          return yield* judge(action, row ?? former, resource)
        }),

        inSession: Effect.fnUntraced(function* (action, sessionId) {
          const { userId } = yield* CurrentPrincipal
          const [row] = yield* sql<Row>`
            ${standing(userId)} FROM sessions s JOIN projects p ON p.id = s.project_id WHERE s.id = ${sessionId}`
          return yield* judge(action, row, sessionId)
        }),

        overApproval: Effect.fnUntraced(function* (approvalId, details) {
          const { userId } = yield* CurrentPrincipal
          const [row] = yield* sql<DecisionRow>`
            ${standing(userId)}, p.approvers, p.own_requests, EXISTS (
              SELECT 1 FROM run_requesters q WHERE q.run_id = a.run_id AND q.user_id = ${userId}
            ) AS is_own
            FROM approvals a JOIN projects p ON p.id = a.project_id WHERE a.id = ${approvalId}`
          const refusalOf = (role: ProjectRole | undefined) =>
            row === undefined
              ? undefined
              : decisionRefusal({ approvers: row.approvers, ownRequests: row.own_requests }, role, row.is_own)
          return yield* judge("approval.decide", row, approvalId, refusalOf, details)
        }),

        overDevice: Effect.fnUntraced(function* (deviceId) {
          const { userId } = yield* CurrentPrincipal
          const [owned] = yield* sql`SELECT 1 FROM devices WHERE id = ${deviceId} AND owner_id = ${userId}`
          const refusal = owned === undefined ? new PermissionDenied() : undefined
          if (refusal !== undefined) yield* deny("device.manage", deviceId, null, refusal.code)
          return yield* Effect.fromResult(
            prove("device.manage", { principal: userId, subject: deviceId }, refusal)
          )
        }),

        toTarget: Effect.fnUntraced(function* (deviceId) {
          const { userId } = yield* CurrentPrincipal
          const { own, shared } = routableBy(sql, userId)
          const [routable] = yield* sql`
            SELECT 1 FROM devices WHERE id = ${deviceId} AND revoked_at IS NULL AND (${own} OR (${shared}))`
          if (routable === undefined) {
            yield* deny("task.route", deviceId, null, "unauthorized_target")
            return yield* new UnauthorizedTarget()
          }
          const proof = prove("task.route", { principal: userId, subject: deviceId }, undefined)
          return yield* Effect.orDie(Effect.fromResult(proof))
        })
      })
    })
  )
}

interface Row {
  readonly id: ProjectId
  readonly visibility: ProjectVisibility
  readonly role: ProjectRole | null
}

interface DecisionRow extends Row {
  readonly approvers: Approvers
  readonly own_requests: boolean
  /** Whether the caller is a requester of the run that asks. */
  readonly is_own: boolean
}

/** Everyone who can sign in may read what is internal. */
const heldOf = ({ role, visibility }: Row): ProjectRole | undefined =>
  role ?? (visibility === "internal" ? "viewer" : undefined)
