/**
 * Sending of the card of a request that needs a person.
 *
 * Guarantees: the card is sent once. A request that was resolved while its card was sent shows no button.
 */
import { Effect } from "effect"
import { ButtonActions } from "../button/ButtonActions.ts"
import type { Card } from "../platform/Card.ts"
import { Platforms } from "../platform/Platforms.ts"
import type { Follow } from "./FollowRow.ts"
import { newCard } from "./NewCard.ts"
import type { RequestCard, RequestCardStore } from "./RequestCardStore.ts"

export interface RequestCardToSend<Id, Summary, State> {
  readonly store: RequestCardStore<Id, Summary, State>
  readonly stored: RequestCard<Id, Summary, State> & { readonly isNew: boolean }
  readonly card: Card
  /** Ids of its buttons. */
  readonly actionIds: ReadonlyArray<string>
}

/** Sends the card, or draws it again. Returns the state if the request was resolved meanwhile: the caller draws that. */
export const sendRequestCard = Effect.fn("SendRequestCard.send")(function* <
  Id extends string,
  Summary,
  State
>(
  { account, chatId, replyTo, threadId }: Follow,
  { actionIds, card, store, stored }: RequestCardToSend<Id, Summary, State>
) {
  const actions = yield* ButtonActions
  const { id, isNew, messageId, state } = stored
  const platform = (yield* Platforms).of(account.platform)
  const where = { _tag: "Chat", chatId, replyTo, threadId } as const
  const sent =
    messageId === undefined
      ? yield* newCard(platform, { where, card, key: id, repeated: !isNew }, (message) =>
          Effect.andThen(actions.attach(actionIds, message), store.setMessage(id, message.messageId))
        )
      : { message: { chatId, messageId }, isShown: false }
  const now = yield* store.get(id)
  if (now !== undefined && now.state !== state && now.state !== "pending") return now.state
  if (!sent.isShown) yield* platform.update(sent.message, card)
  return undefined
})
