/**
 * Who may do what: the contract's matrix and the project roles, as data, and the proof that a check was made.
 *
 * A service method that acts takes a `Proof` of its action. Proofs come from `prove` alone, so a handler that forgets its check does not
 * compile. A proof says that the check passed when it was made; it is not kept and not sent.
 */
import { Result } from "effect"
import type { ErrorCode } from "../errors/ErrorTable.ts"
import { PermissionDenied, type FailureOf } from "../errors/Failures.ts"
import { type ApprovalPolicy, ProjectRole } from "../project/Project.ts"

export type Authority =
  /** Anyone. */
  | "public"
  /** A subject of the identity provider and a Hub product session. */
  | "hub_session"
  /** Membership of the project, in the row's role at least. */
  | "project_member"
  /** The Hub lets this session route to the target, and the target is present. */
  | "target_route"
  /** The workspace is on the Edge's allowlist. */
  | "workspace_allowlist"
  /** The Edge's policy allows it and the runtime is available. */
  | "edge_policy"
  /** A person approved it, or a policy grants it. */
  | "approval"
  /** A verified event of the gateway whose sender is bound to a person. */
  | "gateway_binding"

interface Row {
  readonly authority: Authority
  /** The weakest role that may; only with `project_member`. */
  readonly role?: ProjectRole
  /** The codes of a refusal. */
  readonly rejections: readonly [ErrorCode, ...Array<ErrorCode>]
  /** The row of the contract's matrix that this action stands for. */
  readonly contract?: string
}

const role = <R extends ProjectRole>(role: R) =>
  ({ authority: "project_member", role, rejections: ["permission_denied"] }) as const

export const matrix = {
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
  "approval.decide": role("member"),
  "session.write": role("member"),
  "project.update": role("admin"),
  "member.manage": role("admin"),
  "device.manage": role("admin"),
  "policy.manage": role("admin"),
  "audit.read": role("admin"),
  "project.delete": role("owner")
} as const satisfies Record<string, Row>

export type Action = keyof typeof matrix
export type RejectionOf<A extends Action> = (typeof matrix)[A]["rejections"][number]
/** Actions that a project role decides. */
export type RoleAction = {
  readonly [A in Action]: (typeof matrix)[A] extends { role: string } ? A : never
}[Action]

type RefusalOf<A extends Action> = { readonly [C in RejectionOf<A>]: FailureOf<C> }[RejectionOf<A>]

declare const proven: unique symbol
/** Who acts, and on what: a project, run or workspace id. */
export interface Claim {
  readonly principal: string
  readonly subject: string
}

/** That `principal` may do `action` to `subject`, checked. */
export interface Proof<A extends Action> extends Claim {
  readonly [proven]: true
  readonly action: A
}

/** The proof, or the refusal that the check came to. */
export const prove = <A extends Action>(
  action: A,
  claim: Claim,
  refusal: RefusalOf<A> | undefined
): Result.Result<Proof<A>, RefusalOf<A>> =>
  // `proven` exists in types alone: it keeps anyone else from writing a proof down.
  refusal === undefined ? Result.succeed({ ...claim, action } as Proof<A>) : Result.fail(refusal)

const rank = (role: ProjectRole) => ProjectRole.literals.indexOf(role)

/** Why a person with that role, or none, may not do it; undefined where they may. */
export const roleRefusal = (
  action: RoleAction,
  held: ProjectRole | undefined
): PermissionDenied | undefined =>
  held !== undefined && rank(held) >= rank(matrix[action].role) ? undefined : new PermissionDenied()

/** Reason why a person may not decide an approval under a policy. `own`: a message of the person reached the run. */
export const decisionRefusal = (
  { approvers, ownRequests }: ApprovalPolicy,
  held: ProjectRole | undefined,
  own: boolean
): PermissionDenied | undefined => {
  const refusal = roleRefusal("approval.decide", held)
  if (refusal !== undefined || held === undefined) return refusal ?? new PermissionDenied()
  if (rank(held) < rank(approvers))
    return new PermissionDenied({
      message: `In this project an approval is decided by the role ${approvers} or a stronger one.`
    })
  return own && !ownRequests
    ? new PermissionDenied({ message: "In this project an approval is for others than who asked." })
    : undefined
}
