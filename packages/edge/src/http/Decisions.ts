/**
 * Decisions and answers of the owner of the Edge's token, from every client: HTTP requests and the agent host. `/v1/permissions` and `/v1/inputs`: what
 * waits for a person, and the local bridge for answers. `/v1/grants`: what is remembered, to be seen and taken back.
 *
 * Guarantees: one key is carried out once, wherever it comes from.
 */
import { type Approval, type DecideApproval, ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import type { DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import type { InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Grants } from "../approval/Grants.ts"
import type { Decide } from "../change/ChangeDecisions.ts"
import { withoutSecrets } from "../input/SecretAnswers.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { findInput, findApproval, pageOfApprovals, pageOfInputs } from "../store/EdgeRequestRows.ts"
import { Store, type Write } from "../store/Store.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"

/** Where a decision comes from. */
interface LocalRequest {
  readonly key: string | undefined
  readonly origin: "terminal" | "editor"
}

/** Without a key there is no result to keep, and no transaction: the runtime's next event may find the store idle. */
const keepResult = (store: Store["Service"], rows: ReadonlyArray<Write>): Effect.Effect<void> =>
  rows.length === 0 ? Effect.void : Effect.orDie(store.commit(rows))

export const localDecisions = Effect.gen(function* () {
  const store = yield* Store
  const runs = yield* RunSupervisor
  const idempotency = yield* EdgeIdempotency

  return {
    decide: (payload: DecideApproval, { key, origin }: LocalRequest) => {
      const { approvalId, decision, reason, runId, scope = "once", updatedInput } = payload
      const answer = { decision, scope, reason, updatedInput }
      return idempotency.once(
        { scope: `${LOCAL_PRINCIPAL} POST /v1/permissions/decide`, key, request: payload },
        (keep: ResultRows<Approval>) =>
          runs
            .decide(runId, approvalId, answer, { by: LOCAL_PRINCIPAL, origin })
            .pipe(Effect.tap((approval) => keepResult(store, keep(approval))))
      )
    },

    answer: (
      payload: InputAnswer & { readonly runId: RunId; readonly inputId: InputRequestId },
      { key, origin }: LocalRequest
    ) => {
      const { inputId, runId, ...answer } = payload
      const request = {
        scope: `${LOCAL_PRINCIPAL} POST /v1/inputs/answer`,
        key,
        request: withoutSecrets(findInput(store, inputId), payload)
      }
      const by = { by: LOCAL_PRINCIPAL, origin }
      return idempotency.once(request, (keep: ResultRows<InputRequest>) =>
        runs.answer(runId, inputId, { ...by, answer, allowsPlain: true, keep })
      )
    },

    decideChanges: <Request>(
      kind: "accept" | "reject" | "undo",
      runId: RunId,
      payload: Request,
      { key, origin }: LocalRequest,
      carryOut: Decide<Request>
    ) =>
      idempotency.once(
        { scope: `${LOCAL_PRINCIPAL} POST /v1/runs/${runId}/changes/${kind}`, key, request: payload },
        (keep: ResultRows<DecidedChanges>) => carryOut(runId, payload, { by: LOCAL_PRINCIPAL, origin }, keep)
      )
  }
})

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

/** `/v1/inputs`: questions, forms and plans. */
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
