/** `/v1/permissions`: the durable approvals, and the local bridge for decisions. `/v1/grants`: what is remembered, to be seen and taken back. */
import { Grants } from "../approval/Grants.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { findApproval, pageOfApprovals } from "../store/EdgeRequestRows.ts"
import { Store, type Write } from "../store/Store.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { type Approval, ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

/** Without a key there is no result to keep, and no transaction: the runtime's next event may find the store idle. */
const keepResult = (store: Store["Service"], rows: ReadonlyArray<Write>): Effect.Effect<void> =>
  rows.length === 0 ? Effect.void : Effect.orDie(store.commit(rows))

export const permissions = HttpApiBuilder.group(
  EdgeApi,
  "permissions",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Store
    const runs = yield* RunSupervisor
    const idempotency = yield* EdgeIdempotency

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
        const { runId, approvalId, decision, scope = "once", reason, updatedInput } = payload
        const { [ORIGIN_HEADER]: origin = "terminal" } = headers
        const answer = { decision, scope, reason, updatedInput }
        const request = {
          scope: `${LOCAL_PRINCIPAL} POST /v1/permissions/decide`,
          key: headers["idempotency-key"],
          request: payload
        }
        const decide = (keep: ResultRows<Approval>) =>
          runs
            .decide(runId, approvalId, answer, { by: LOCAL_PRINCIPAL, origin })
            .pipe(Effect.tap((approval) => keepResult(store, keep(approval))))
        const { body, replayed: again } = yield* idempotency.once(request, decide)
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
