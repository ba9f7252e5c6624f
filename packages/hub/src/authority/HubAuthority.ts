/**
 * Authority of the caller: by role in a project or one of its sessions, by ownership or sharing over a device. Looked up for each request; the
 * result is the proof that services require.
 *
 * Guarantees: missing and forbidden resources are indistinguishable, by response and by lookup. A refusal in a project is audited in that project; a
 * refusal about a device is audited among the caller's actions, whether the device exists or not.
 */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import {
  type DecidingAction,
  decisionRefusal,
  type Proof,
  prove,
  roleRefusal
} from "@corral/domain/access/Authorization"
import { PermissionDenied, UnauthorizedTarget } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import type { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type {
  ApprovalId,
  DeviceId,
  InputRequestId,
  ProjectId,
  SessionId,
  UserId
} from "@corral/domain/identity/Ids"
import type { InputKind } from "@corral/domain/input/InputRequest"
import { ProjectRole } from "@corral/domain/project/Project"
import { RunMode } from "@corral/domain/run/Run"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { PlannedSql } from "../store/Database.ts"
import {
  auditDenial,
  findChangesPolicy,
  findDecisionPolicy,
  findInProject,
  findInProjectOfSession,
  findInRemovedProject,
  type NamedAction,
  type ProjectProof,
  proveRole
} from "./ProjectProof.ts"

const roles = ProjectRole.literals.filter((role) => roleRefusal("task.create", role) === undefined)

/**
 * Devices that a user may route to: the user's own, and devices shared with a project where the user's role allows tasks. Two conditions on `devices`
 * that exclude each other. Does not check whether a device is revoked. The shared devices are collected first, so that a list never scans devices of
 * other users.
 */
export const routableDeviceConditions = (sql: SqlClient.SqlClient, userId: UserId) => ({
  owned: sql`devices.owner_id = ${userId}`,
  shared: sql`
    devices.owner_id <> ${userId} AND devices.id = ANY (ARRAY(
      SELECT s.device_id FROM project_members m JOIN device_shares s ON s.project_id = m.project_id
      WHERE m.user_id = ${userId} AND ${sql.in("m.role", roles)}
    ))`
})

/** The caller comes from the request. */
type Caller = CurrentPrincipal | CurrentRequestId

/**
 * The requirements of each method are provided per request.
 *
 * @effect-expect-leaking CurrentPrincipal | CurrentRequestId
 */
export class HubAuthority extends Context.Service<
  HubAuthority,
  {
    /** Authorizes `action` in the project. The audit names `resource`, or the project where it is absent. */
    readonly inProject: <A extends NamedAction>(
      action: A,
      projectId: ProjectId,
      resource?: string
    ) => Effect.Effect<ProjectProof<A>, PermissionDenied | SqlError.SqlError, Caller>
    /** Authorizes `action` in the session's project, which is the subject of the proof. */
    readonly inSession: <A extends NamedAction>(
      action: A,
      sessionId: SessionId
    ) => Effect.Effect<ProjectProof<A>, PermissionDenied | SqlError.SqlError, Caller>
    /** Authorizes a decision by the policy of the approval's project. `details` is recorded with a refusal. */
    readonly overApproval: (
      approvalId: ApprovalId,
      details?: DecisionDetails
    ) => Effect.Effect<ProjectProof<"approval.decide">, PermissionDenied | SqlError.SqlError, Caller>
    /** Authorizes a decision about the changes of a run, like that of an approval. A refusal is recorded as `action` on `resource`. */
    readonly overChanges: (
      runId: RunId,
      recorded: {
        readonly action: Extract<AuditAction, `changes.${string}`>
        readonly resource: string
      }
    ) => Effect.Effect<ProjectProof<"changes.decide">, PermissionDenied | SqlError.SqlError, Caller>
    /** Authorizes an answer: to a question like a message in its session, to a plan by the policy of the project, like an approval. */
    readonly overInput: (
      inputId: InputRequestId,
      kind: InputKind
    ) => Effect.Effect<ProjectProof<"input.answer">, PermissionDenied | SqlError.SqlError, Caller>
    /** Authorizes the owner of the device. A refusal is recorded as `action`. */
    readonly overDevice: (
      deviceId: DeviceId,
      action?: "device.manage" | "device.presets"
    ) => Effect.Effect<Proof<"device.manage">, PermissionDenied | SqlError.SqlError, Caller>
    /** Authorizes routing to the device. Does not check whether the device is online. */
    readonly toTarget: (
      deviceId: DeviceId
    ) => Effect.Effect<Proof<"task.route">, UnauthorizedTarget | SqlError.SqlError, Caller>
  }
>()("corral/hub/Authority") {
  static readonly layer = Layer.effect(
    HubAuthority,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const planned = yield* PlannedSql
      const audit = yield* Audit

      // Untraced, as all that runs for reads (ADR 38).
      return HubAuthority.of({
        inProject: Effect.fnUntraced(function* (action, projectId, resource) {
          const { userId } = yield* CurrentPrincipal
          const current = yield* findInProject(sql, userId, projectId)
          // The audit trail outlives its project, for users who could read it.
          const membership =
            current === undefined && action === "audit.read"
              ? yield* findInRemovedProject(sql, userId, projectId)
              : current
          return yield* proveRole(audit, action, membership, { resource, recordedAs: action })
        }),

        inSession: Effect.fnUntraced(function* (action, sessionId) {
          const { userId } = yield* CurrentPrincipal
          const membership = yield* findInProjectOfSession(sql, userId, sessionId)
          return yield* proveRole(audit, action, membership, { resource: sessionId, recordedAs: action })
        }),

        overApproval: Effect.fnUntraced(function* (approvalId, details) {
          const { userId } = yield* CurrentPrincipal
          const policy = yield* findDecisionPolicy(planned, userId, "approvals", approvalId)
          const refusalOf = refusalUnder(policy)
          const options = { resource: approvalId, refusalOf, details, recordedAs: "approval.decide" as const }
          return yield* proveRole(audit, "approval.decide", policy, options)
        }),

        overChanges: Effect.fnUntraced(function* (runId, { action, resource }) {
          const { userId } = yield* CurrentPrincipal
          const runs = action === "changes.undo" ? "all" : "undecided"
          const policy = yield* findChangesPolicy(planned, userId, runId, runs)
          const refusalOf = refusalUnder(policy, "changes.decide")
          return yield* proveRole(audit, "changes.decide", policy, {
            resource,
            refusalOf,
            recordedAs: action
          })
        }),

        overInput: Effect.fnUntraced(function* (inputId, kind) {
          const { userId } = yield* CurrentPrincipal
          const policy = yield* findDecisionPolicy(planned, userId, "inputs", inputId)
          const refusalOf =
            kind === "plan"
              ? refusalUnder(policy)
              : (role: ProjectRole | undefined) =>
                  roleRefusal("session.write", role) ?? roleRefusal("input.answer", role)
          const options = { resource: inputId, refusalOf, recordedAs: "input.answer" as const }
          return yield* proveRole(audit, "input.answer", policy, options)
        }),

        overDevice: Effect.fnUntraced(function* (deviceId, action = "device.manage") {
          const { userId } = yield* CurrentPrincipal
          const [ownDevice] =
            yield* sql`SELECT 1 FROM devices WHERE id = ${deviceId} AND owner_id = ${userId}`
          const refusal = ownDevice === undefined ? new PermissionDenied() : undefined
          if (refusal !== undefined)
            yield* auditDenial(audit, {
              action,
              resource: deviceId,
              projectId: null,
              code: refusal.code
            })
          return yield* Effect.fromResult(
            prove("device.manage", { principal: userId, subject: deviceId }, refusal)
          )
        }),

        toTarget: Effect.fnUntraced(function* (deviceId) {
          const { userId } = yield* CurrentPrincipal
          const { owned, shared } = routableDeviceConditions(sql, userId)
          const [routable] = yield* sql`
            SELECT 1 FROM devices WHERE id = ${deviceId} AND revoked_at IS NULL AND (${owned} OR (${shared}))`
          if (routable === undefined) {
            yield* auditDenial(audit, {
              action: "task.route",
              resource: deviceId,
              projectId: null,
              code: "unauthorized_target"
            })
            return yield* new UnauthorizedTarget()
          }
          const proof = prove("task.route", { principal: userId, subject: deviceId }, undefined)
          return yield* Effect.orDie(Effect.fromResult(proof))
        })
      })
    })
  )
}

/** Why a user with a role may not decide under the project's policy. */
const refusalUnder =
  (
    policy: Effect.Success<ReturnType<typeof findDecisionPolicy>>,
    action: DecidingAction = "approval.decide"
  ) =>
  (role: ProjectRole | undefined) => {
    if (policy === undefined) return undefined
    const { approvers, is_own, own_requests: ownRequests } = policy
    return decisionRefusal({ approvers, ownRequests }, role, is_own, action)
  }

/** Modes that a chat account may request. Wider modes need a client that shows the actions of the agent. */
const chatModes = RunMode.literals.slice(0, RunMode.literals.indexOf("ask") + 1)

export const requireChatMode = ({ kind }: Principal, mode: RunMode): Effect.Effect<void, PermissionDenied> =>
  kind !== "chat" || chatModes.includes(mode)
    ? Effect.void
    : Effect.fail(
        new PermissionDenied({
          message: "Messages from a chat run at most in the mode ask.",
          details: { mode, modes: chatModes }
        })
      )

/** The mode, or the widest one that the caller may request where the mode is wider. */
export const narrowedMode = ({ kind }: Principal, mode: RunMode): RunMode =>
  kind === "chat" && !chatModes.includes(mode) ? "ask" : mode
