/**
 * Authorization rules: the contract's matrix and the project roles as data, and the proof that a check was made.
 *
 * Guarantees: a service method that acts takes a `Proof` of its action. Only `prove` creates proofs, so a handler without a check does not
 * compile.
 * Does not: store or send proofs. A proof shows that the check passed when it was made.
 */
import { Result } from "effect"
import type { ErrorCode } from "../errors/ErrorTable.ts"
import { PermissionDenied, type FailureOf } from "../errors/Failures.ts"
import { type ApprovalPolicy, ProjectRole } from "../project/Project.ts"

/** Kind of authority that an action requires. */
export type Authority =
  /** Anyone. */
  | "public"
  /** A valid sign-in of a user at the Hub. */
  | "hub_session"
  /** Membership of the project with at least the row's role. */
  | "project_member"
  /** The caller may route to the target, and the target is online. */
  | "target_route"
  /** The workspace is on the Edge's allowlist. */
  | "workspace_allowlist"
  /** The Edge's policy allows it and the runtime is available. */
  | "edge_policy"
  /** A user approved the action, or a policy grants it. */
  | "approval"
  /** A verified event of the Gateway whose sender is linked to a user. */
  | "gateway_binding"

interface Row {
  readonly authority: Authority
  /** The weakest role that is allowed; only with `project_member`. */
  readonly role?: ProjectRole
  /** Error codes of a refusal. */
  readonly rejections: readonly [ErrorCode, ...Array<ErrorCode>]
  /** The corresponding row of the contract's matrix. */
  readonly contract?: string
}

const role = <R extends ProjectRole>(role: R) =>
  ({ authority: "project_member", role, rejections: ["permission_denied"] }) as const

/** Required authority of every action. */
export const authorityMatrix = {
  "public.read": {
    authority: "public",
    rejections: ["not_found"],
    contract: "Read public docs or status"
  },
  "session.open": {
    authority: "hub_session",
    rejections: ["unauthorized"],
    contract: "Open a Hub web session"
  },
  "project.read": { ...role("viewer"), contract: "Read project, session or task" },
  "task.route": {
    authority: "target_route",
    rejections: ["unauthorized_target", "target_offline"],
    contract: "Route a task to an Edge"
  },
  "workspace.read": {
    authority: "workspace_allowlist",
    rejections: ["workspace_outside_allowlist"],
    contract: "Read a workspace file preview"
  },
  "run.start": {
    authority: "edge_policy",
    rejections: ["runtime_unavailable", "permission_denied"],
    contract: "Start a runtime run"
  },
  "action.apply": {
    authority: "approval",
    rejections: ["approval_rejected", "permission_denied"],
    contract: "Apply file writes or shell commands"
  },
  "task.create_from_chat": {
    authority: "gateway_binding",
    rejections: ["binding_required", "permission_denied"],
    contract: "Create a task from the chat platform"
  },
  "task.create": role("member"),
  "run.cancel": role("member"),
  "run.pause": role("member"),
  "run.resume": role("member"),
  "run.finish": role("member"),
  "input.answer": role("member"),
  "approval.decide": role("member"),
  "changes.decide": role("member"),
  "session.write": role("member"),
  "project.update": role("admin"),
  "member.manage": role("admin"),
  "device.manage": role("admin"),
  "policy.manage": role("admin"),
  "audit.read": role("admin"),
  "project.delete": role("owner")
} as const satisfies Record<string, Row>

export type Action = keyof typeof authorityMatrix
export type RejectionOf<A extends Action> = (typeof authorityMatrix)[A]["rejections"][number]
/** Actions that a project role decides. */
export type RoleAction = {
  readonly [A in Action]: (typeof authorityMatrix)[A] extends { role: string } ? A : never
}[Action]

type RefusalOf<A extends Action> = { readonly [C in RejectionOf<A>]: FailureOf<C> }[RejectionOf<A>]

declare const proven: unique symbol
/** A caller and the resource of its action: the id of a project, run or workspace. */
export interface Claim {
  readonly principal: string
  readonly subject: string
}

/** Proof of a check: `principal` may do `action` to `subject`. */
export interface Proof<A extends Action> extends Claim {
  readonly [proven]: true
  readonly action: A
}

interface Prove {
  <A extends RoleAction>(
    action: A,
    claim: Claim,
    refusal: PermissionDenied | undefined
  ): Result.Result<Proof<A>, PermissionDenied>
  <A extends Action>(
    action: A,
    claim: Claim,
    refusal: RefusalOf<A> | undefined
  ): Result.Result<Proof<A>, RefusalOf<A>>
}

/** Creates the proof of a passed check, or fails with the refusal of the check. */
export const prove: Prove = <A extends Action, E>(
  action: A,
  claim: Claim,
  refusal: E | undefined
): Result.Result<Proof<A>, E> =>
  // `proven` exists only in types: no other module can create a proof.
  refusal === undefined ? Result.succeed({ ...claim, action } as Proof<A>) : Result.fail(refusal)

const rank = (role: ProjectRole) => ProjectRole.literals.indexOf(role)

/** Reason why a user with the role `memberRole` (undefined: not a member) may not do the action; undefined if the action is allowed. */
export const roleRefusal = (
  action: RoleAction,
  memberRole: ProjectRole | undefined
): PermissionDenied | undefined =>
  memberRole !== undefined && rank(memberRole) >= rank(authorityMatrix[action].role)
    ? undefined
    : new PermissionDenied()

/** What a user decides under the policy of a project, as its refusals name it. */
const decided = {
  "approval.decide": { all: "decide approvals", own: "decide the approval" },
  "changes.decide": { all: "decide about changes", own: "decide about the changes" }
} as const satisfies Partial<Record<RoleAction, object>>
export type DecidingAction = keyof typeof decided

/**
 * Reason why a user may not decide an approval, or about changes, under a policy; undefined if they may. `isOwn`: a message of the user
 * reached the run, or a run that made the changes.
 */
export const decisionRefusal = (
  { approvers, ownRequests }: ApprovalPolicy,
  memberRole: ProjectRole | undefined,
  isOwn: boolean,
  action: DecidingAction = "approval.decide"
): PermissionDenied | undefined => {
  const refusal = roleRefusal(action, memberRole)
  if (refusal !== undefined || memberRole === undefined) return refusal ?? new PermissionDenied()
  if (rank(memberRole) < rank(approvers))
    return new PermissionDenied({
      message: `Only the role ${approvers} or a stronger one can ${decided[action].all} in this project.`
    })
  return isOwn && !ownRequests
    ? new PermissionDenied({
        message: `You can't ${decided[action].own} of your own request in this project.`
      })
    : undefined
}
