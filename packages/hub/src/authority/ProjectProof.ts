/** Proof that the caller may act in a project, and the audit record where the caller may not. */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import { type Proof, prove, type RoleAction, roleRefusal } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId } from "@corral/domain/identity/Ids"
import type { ProjectRole } from "@corral/domain/project/Project"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Audit } from "../audit/Audit.ts"
import { type Membership, roleIn } from "./Membership.ts"

/** A proof with its project and the role behind it. */
export type ProjectProof<A extends RoleAction> = Proof<A> & {
  readonly projectId: ProjectId
  readonly role: ProjectRole
}

interface Denial {
  readonly action: RoleAction | "task.route"
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
}

/** Proves `action` by the caller's role. Without a membership the project is missing or forbidden. */
export const proveRole = Effect.fnUntraced(function* <A extends RoleAction>(
  audit: Audit["Service"],
  action: A,
  membership: Membership | undefined,
  { details, refusalOf = (role) => roleRefusal(action, role), resource }: ProofOptions
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
    action,
    resource: resource ?? projectId,
    projectId,
    code: "permission_denied",
    details
  })
  return yield* proof._tag === "Failure" ? proof.failure : new PermissionDenied()
})
