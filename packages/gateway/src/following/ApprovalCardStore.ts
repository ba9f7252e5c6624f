/** Stored approval cards: the message of each, and whether its approval is pending. */
import { ApprovalState } from "@corral/domain/approval/Approval"
import { ApprovalId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { timedStore } from "../store/TimedStore.ts"
import { ApprovalSummary, type ResolvedState } from "./ApprovalCard.ts"
import { makeRequestCardStore, type RequestCard, type RequestCardStore } from "./RequestCardStore.ts"

export type StoredApprovalCard = RequestCard<ApprovalId, ApprovalSummary, ResolvedState>

export class ApprovalCardStore extends Context.Service<
  ApprovalCardStore,
  RequestCardStore<ApprovalId, ApprovalSummary, ResolvedState>
>()("corral/gateway/ApprovalCardStore") {
  static readonly layer = Layer.effect(
    ApprovalCardStore,
    Effect.map(timedStore, (store) =>
      ApprovalCardStore.of(
        makeRequestCardStore<ApprovalId, ApprovalSummary, ResolvedState>(store, {
          table: "approval_cards",
          key: "approval_id",
          Id: ApprovalId,
          Summary: ApprovalSummary,
          State: ApprovalState
        })
      )
    )
  )
}
