/**
 * Decisions and answers of the owner of the Edge's token, from every client: HTTP requests and the agent host.
 *
 * Guarantees: one key is carried out once, wherever it comes from.
 */
import type { Approval, DecideApproval } from "@corral/domain/approval/Approval"
import type { DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import { Effect } from "effect"
import type { Decide } from "../change/ChangeDecisions.ts"
import { withoutSecrets } from "../input/SecretAnswers.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { findInput } from "../store/EdgeRequestRows.ts"
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
