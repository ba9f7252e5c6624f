/** `/client/approvals`: what waits for a decision, and deciding. The Edge says which decision was the first. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Decision, DecisionOrigin } from "@corral/domain/approval/Approval"
import type { DecisionDetails } from "@corral/domain/access/Audit"
import { ApprovalAlreadyResolved, ApprovalExpired, PermissionDenied } from "@corral/domain/errors/Failures"
import type { DecideHubApproval, HubApproval } from "@corral/domain/hub-api/HubRun"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { inputChanges } from "@corral/domain/approval/InputEdit"
import type { PrincipalKind } from "@corral/domain/identity/User"
import { byId, pageOf } from "@corral/service/http/Paged"
import { replayed } from "@corral/service/http/Replayed"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Approvals } from "../approval/Approvals.ts"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { answered } from "./Answered.ts"
import { routed } from "./Routed.ts"

export const approvals = HttpApiBuilder.group(
  HubApi,
  "approvals",
  Effect.fnUntraced(function* (handlers) {
    const approvals = yield* Approvals
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const idempotency = yield* HubIdempotency
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
        const { kind, userId } = yield* CurrentPrincipal
        const approval = (yield* approvals.find(id)) ?? (yield* new PermissionDenied())
        const { projectId, targetId } = approval
        const tried = triedOf(approval, payload, originOf[kind])
        yield* authority.overApproval(id, tried)
        const request = {
          scope: `${userId} POST /client/approvals/${id}/decide`,
          key: headers["idempotency-key"],
          request: payload
        }
        const kept = yield* idempotency.findAnswer<HubApproval>(request)
        if (kept !== undefined) return yield* replayed(kept, true)
        // Nothing of the Hub's is held while the Edge is asked; asked twice, it says the same twice.
        const decided =
          approval.state === "pending"
            ? router.decide(targetId, { ...payload, ...identityOf(tried), by: userId }).pipe(
                Effect.map((told): HubApproval => ({ ...told, projectId, targetId })),
                routed(targets, approval)
              )
            : settled(approval, payload)
        const outcome = yield* Effect.exit(decided)
        const deed = { action: "approval.decide" as const, resource: id, projectId, details: tried }
        const { body, replayed: again } = yield* idempotency.runOnce(
          request,
          audit.perform(deed, outcome, (told) => ({ details: decidedOf(tried, told) }))
        )
        return yield* replayed(body, again)
      }, answered)
    })
  })
)

/** Where a person is who comes with that credential. An API key decides nothing. */
const originOf: Readonly<Record<PrincipalKind, DecisionOrigin>> = {
  web: "console",
  desktop: "editor",
  cli: "terminal",
  key: "terminal",
  chat: "chat"
}

/** Details of a requested decision, before the Edge confirms its scope. */
const triedOf = (
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
const decidedOf = (tried: DecisionDetails, { edited, scope }: HubApproval): DecisionDetails => ({
  ...tried,
  scope: scope ?? tried.scope,
  edited: edited ?? tried.edited
})

const meant = { allow: "approved", deny: "denied", cancel: "cancelled" } as const

/** What has been decided already: the same again changes nothing, another comes too late. */
const settled = (
  approval: HubApproval,
  { decision, updatedInput }: { readonly decision: Decision; readonly updatedInput?: unknown }
): Effect.Effect<HubApproval, ApprovalAlreadyResolved | ApprovalExpired> => {
  const { edited = false, id: approvalId, state } = approval
  if (state === meant[decision] && updatedInput === undefined && !edited) return Effect.succeed(approval)
  const details = { approvalId, state }
  return Effect.fail(
    state === "expired" ? new ApprovalExpired({ details }) : new ApprovalAlreadyResolved({ details })
  )
}
