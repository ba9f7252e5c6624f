/** `/client/approvals`: approvals and their decisions. The Edge determines which decision was first. */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import { type Decision, type DecisionOrigin, ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { inputChanges } from "@corral/domain/approval/InputEdit"
import { ApprovalAlreadyResolved, ApprovalExpired, PermissionDenied } from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { type DecideHubApproval, HubApproval } from "@corral/domain/hub-api/HubRun"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { PrincipalKind } from "@corral/domain/identity/User"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Approvals } from "../run/RunRequests.ts"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import {
  completingCommands,
  type HubRequest,
  keyedWrite,
  requireRoute,
  withErrorObjects
} from "./Handlers.ts"

/** An API key neither decides nor answers. */
const originOfKind: Readonly<Record<PrincipalKind, DecisionOrigin>> = {
  web: "console",
  desktop: "editor",
  cli: "terminal",
  key: "terminal",
  chat: "chat"
}

/**
 * Client of a decision or an answer: an editor that says so, otherwise by the kind of the caller's credential. Each person who is signed in can use an
 * editor. Keys and chats cannot.
 */
export const decisionOriginOf = (
  kind: PrincipalKind,
  { [ORIGIN_HEADER]: origin }: { readonly [ORIGIN_HEADER]?: "terminal" | "editor" | undefined }
): DecisionOrigin =>
  origin === "editor" && kind !== "chat" && kind !== "key" ? "editor" : originOfKind[kind]

export const approvalEndpoints = HttpApiBuilder.group(
  HubApi,
  "approvals",
  Effect.fnUntraced(function* (handlers) {
    const approvals = yield* Approvals
    const authority = yield* HubAuthority

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit, projectId, runId, state } }) {
        const { userId } = yield* CurrentPrincipal
        if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
        const filter = { projectId, runId, state }
        return yield* pageOf(
          {
            filter: `approvals ${JSON.stringify([projectId, runId, state])}`,
            principal: userId,
            cursor,
            limit
          },
          idPosition,
          (after, limit) => approvals.list(userId, filter, after, limit)
        )
      }, withErrorObjects),

      get: Effect.fnUntraced(function* ({ params: { id } }) {
        const approval = (yield* approvals.find(id)) ?? (yield* new PermissionDenied())
        yield* authority.inProject("project.read", approval.projectId, id)
        return approval
      }, withErrorObjects),

      decide: yield* approvalDecision
    })
  })
)

/** Handler of a decision. */
export const approvalDecision = Effect.gen(function* () {
  const approvals = yield* Approvals
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const idempotency = yield* HubIdempotency
  const writeOnce = yield* keyedWrite
  const complete = yield* completingCommands
  const router = yield* EdgeRouter
  const targets = yield* Targets

  return Effect.fnUntraced(function* ({
    headers,
    params: { id },
    payload
  }: HubRequest<"approvals", "decide">) {
    const { kind, userId } = yield* CurrentPrincipal
    const approval = (yield* approvals.find(id)) ?? (yield* new PermissionDenied())
    const { projectId, targetId } = approval
    const requested = decisionDetailsOf(approval, payload, decisionOriginOf(kind, headers))
    // At the same time: a person waits for both.
    const route = Effect.exit(Effect.void.pipe(requireRoute(targets, approval)))
    const [, mayRoute] = yield* Effect.all([authority.overApproval(id, requested), route], {
      concurrency: 2
    })
    const scope = `${userId} POST /client/approvals/${id}/decide`
    const response = HubApproval
    const key = headers["idempotency-key"]
    const stored = yield* idempotency.findAnswer({ scope, key, request: payload, response })
    if (stored !== undefined) return yield* markReplayed(stored, true)
    // No transaction is open while the Edge decides. A repeated decision gets the same answer from the Edge.
    const decided =
      approval.state === "pending"
        ? Effect.andThen(
            mayRoute,
            Effect.map(
              router.decide(targetId, { ...payload, ...identityOf(requested), by: userId }),
              (decided): HubApproval => ({ ...decided, projectId, targetId })
            )
          )
        : resolveAgain(approval, payload)
    const auditedAction = {
      action: "approval.decide" as const,
      resource: id,
      projectId,
      details: requested
    }
    return yield* complete(
      Effect.flatMap(Effect.exit(decided), (outcome) =>
        writeOnce(
          { scope, headers, payload, response },
          audit.perform(auditedAction, outcome, (decided) => ({ details: decidedOf(requested, decided) }))
        )
      )
    )
  }, withErrorObjects)
})

/** Details of a requested decision, before the Edge confirms its scope. */
const decisionDetailsOf = (
  { id: approvalId, request, runId }: HubApproval,
  { decision, scope = "once", updatedInput }: DecideHubApproval,
  origin: DecisionOrigin
): DecisionDetails => ({
  decision,
  scope,
  edited:
    decision === "allow" &&
    updatedInput !== undefined &&
    inputChanges(request.input, updatedInput).length > 0,
  origin,
  runId,
  approvalId
})

const identityOf = ({ approvalId, origin, runId }: DecisionDetails) => ({ approvalId, origin, runId })

/** Details of a decision, completed by the approval. An older Edge does not report edits. */
const decidedOf = (requested: DecisionDetails, { edited, scope }: HubApproval): DecisionDetails => ({
  ...requested,
  scope: scope ?? requested.scope,
  edited: edited ?? requested.edited
})

const stateAfter = { allow: "approved", deny: "denied", cancel: "cancelled" } as const

/** Answer for a decided approval: the same decision succeeds without effect, another one is too late. */
const resolveAgain = (
  approval: HubApproval,
  { decision, updatedInput }: { readonly decision: Decision; readonly updatedInput?: unknown }
): Effect.Effect<HubApproval, ApprovalAlreadyResolved | ApprovalExpired> => {
  const { edited = false, id: approvalId, state } = approval
  if (state === stateAfter[decision] && updatedInput === undefined && !edited) return Effect.succeed(approval)
  const details = { approvalId, state }
  return Effect.fail(
    state === "expired" ? new ApprovalExpired({ details }) : new ApprovalAlreadyResolved({ details })
  )
}
