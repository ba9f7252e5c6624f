/** `/v1/permissions`: the durable approvals, and the local bridge for decisions. `/v1/grants`: what is remembered, to be seen and taken back. */
import { Grants } from "../approval/Grants.ts"
import { findApproval, pageOfApprovals } from "../store/EdgeRequestRows.ts"
import { Store } from "../store/Store.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { localDecisions } from "./LocalDecisions.ts"
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

export const permissions = HttpApiBuilder.group(
  EdgeApi,
  "permissions",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Store
    const decisions = yield* localDecisions

    return handlers.handleAll({
      list: ({ query: { cursor, limit, runId, state } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `permissions ${runId ?? ""} ${state ?? ""}`, cursor, limit },
          idPosition,
          (after, limit) => Effect.sync(() => pageOfApprovals(store, { after, runId, state, limit }))
        ).pipe(withErrorObject),

      get: Effect.fnUntraced(function* ({ params }) {
        return findApproval(store, params.id) ?? (yield* new NotFound())
      }, withErrorObject),

      decide: Effect.fnUntraced(function* ({ headers, payload }) {
        const { [ORIGIN_HEADER]: origin = "terminal", "idempotency-key": key } = headers
        const { body, replayed: again } = yield* decisions.decide(payload, { key, origin })
        return yield* markReplayed(body, again)
      }, withErrorObject)
    })
  })
)

/** `/v1/grants`: what is remembered, to be seen and taken back. */
export const grants = HttpApiBuilder.group(
  EdgeApi,
  "grants",
  Effect.fnUntraced(function* (handlers) {
    const stored = yield* Grants
    return handlers.handleAll({
      list: ({ query: { cursor, limit, workspace } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `grants ${workspace ?? ""}`, cursor, limit },
          idPosition,
          (after, limit) => Effect.sync(() => stored.page({ after, workspace, limit }))
        ).pipe(withErrorObject),

      remove: ({ params }) => withErrorObject(stored.remove(params.id))
    })
  })
)
