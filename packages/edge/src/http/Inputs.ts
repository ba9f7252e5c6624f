/** `/v1/inputs`: questions, forms and plans, and the local bridge for answers. */
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { findInput, pageOfInputs } from "../store/EdgeRequestRows.ts"
import { Store } from "../store/Store.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { localDecisions } from "./LocalDecisions.ts"

export const edgeInputs = HttpApiBuilder.group(
  EdgeApi,
  "inputs",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* Store
    const decisions = yield* localDecisions

    return handlers.handleAll({
      list: ({ query: { cursor, limit, runId, state } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `inputs ${runId ?? ""} ${state ?? ""}`, cursor, limit },
          idPosition,
          (after, limit) => Effect.sync(() => pageOfInputs(store, { after, runId, state, limit }))
        ).pipe(withErrorObject),

      get: Effect.fnUntraced(function* ({ params }) {
        return findInput(store, params.id) ?? (yield* new NotFound())
      }, withErrorObject),

      answer: Effect.fnUntraced(function* ({ headers, payload }) {
        const { [ORIGIN_HEADER]: origin = "terminal", "idempotency-key": key } = headers
        const { body, replayed: again } = yield* decisions.answer(payload, { key, origin })
        return yield* markReplayed(body, again)
      }, withErrorObject)
    })
  })
)
