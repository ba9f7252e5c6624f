/** `/client/approvals`: what waits for a decision, and deciding. The Edge says which decision was the first. */
import { HubApi } from "@corral/domain/HubApi"
import type { Decision } from "@corral/domain/Approval"
import { ApprovalAlreadyResolved, ApprovalExpired, PermissionDenied } from "@corral/domain/Failures"
import type { HubApproval } from "@corral/domain/HubRun"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { byId, pageOf } from "@corral/service/http/Paged"
import { replayed } from "@corral/service/http/Replayed"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Approvals } from "../approval/Approvals.ts"
import { Audit } from "../audit/Audit.ts"
import { Authority } from "../authority/Authority.ts"
import { Idempotency } from "../Idempotency.ts"
import { EdgeRouter } from "../run/EdgeRouter.ts"
import { Targets } from "../run/Targets.ts"
import { answered } from "./Answered.ts"
import { routed } from "./Routed.ts"

export const approvals = HttpApiBuilder.group(
  HubApi,
  "approvals",
  Effect.fnUntraced(function* (handlers) {
    const approvals = yield* Approvals
    const audit = yield* Audit
    const authority = yield* Authority
    const idempotency = yield* Idempotency
    const router = yield* EdgeRouter
    const targets = yield* Targets

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
          byId,
          (after, limit) => approvals.list(userId, filter, after, limit)
        )
      }, answered),

      get: Effect.fnUntraced(function* ({ params: { id } }) {
        const approval = (yield* approvals.find(id)) ?? (yield* new PermissionDenied())
        yield* authority.inProject("project.read", approval.projectId, id)
        return approval
      }, answered),

      decide: Effect.fnUntraced(function* ({ headers, params: { id }, payload }) {
        const { userId } = yield* CurrentPrincipal
        const approval = (yield* approvals.find(id)) ?? (yield* new PermissionDenied())
        const { projectId, runId, targetId } = approval
        yield* authority.overApproval(id)
        const request = {
          scope: `${userId} POST /client/approvals/${id}/decide`,
          key: headers["idempotency-key"],
          request: payload
        }
        const kept = yield* idempotency.kept<HubApproval>(request)
        if (kept !== undefined) return yield* replayed(kept, true)
        // Nothing of the Hub's is held while the Edge is asked; asked twice, it says the same twice.
        const decided =
          approval.state === "pending"
            ? router.decide(targetId, { ...payload, runId, approvalId: id, by: userId }).pipe(
                Effect.map((told): HubApproval => ({ ...told, projectId, targetId })),
                routed(targets, approval)
              )
            : settled(approval, payload.decision)
        const outcome = yield* Effect.exit(decided)
        const deed = { action: "approval.decide" as const, resource: id, projectId }
        const { body, replayed: again } = yield* idempotency.once(request, audit.done(deed, outcome))
        return yield* replayed(body, again)
      }, answered)
    })
  })
)

const meant = { allow: "approved", deny: "denied", cancel: "cancelled" } as const

/** What has been decided already: the same again changes nothing, another comes too late. */
const settled = (
  approval: HubApproval,
  decision: Decision
): Effect.Effect<HubApproval, ApprovalAlreadyResolved | ApprovalExpired> => {
  const { id: approvalId, state } = approval
  if (state === meant[decision]) return Effect.succeed(approval)
  const details = { approvalId, state }
  return Effect.fail(
    state === "expired" ? new ApprovalExpired({ details }) : new ApprovalAlreadyResolved({ details })
  )
}
