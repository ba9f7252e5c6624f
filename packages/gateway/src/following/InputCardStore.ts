/** Stored cards of questions, forms and plans: the message of each, and whether it is open. */
import { InputRequestId } from "@corral/domain/identity/Ids"
import { InputKind, InputState, type ResolvedInputState } from "@corral/domain/input/InputRequest"
import { Context, Effect, Layer, Schema } from "effect"
import { timedStore } from "../store/TimedStore.ts"
import { makeRequestCardStore, type RequestCard, type RequestCardStore } from "./RequestCardStore.ts"

/** What a card is about. `isShown`: whether the project's policy allows the agent's texts in this chat. */
export const InputSummary = Schema.Struct({ kind: InputKind, isShown: Schema.Boolean })
export type InputSummary = typeof InputSummary.Type

export type StoredInputCard = RequestCard<InputRequestId, InputSummary, ResolvedInputState>

export class InputCardStore extends Context.Service<
  InputCardStore,
  RequestCardStore<InputRequestId, InputSummary, ResolvedInputState>
>()("corral/gateway/InputCardStore") {
  static readonly layer = Layer.effect(
    InputCardStore,
    Effect.map(timedStore, (store) =>
      InputCardStore.of(
        makeRequestCardStore<InputRequestId, InputSummary, ResolvedInputState>(store, {
          table: "input_cards",
          key: "input_id",
          Id: InputRequestId,
          Summary: InputSummary,
          State: InputState
        })
      )
    )
  )
}
