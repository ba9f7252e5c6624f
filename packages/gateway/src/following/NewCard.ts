/**
 * A new card in a chat: its message is sent and saved, then the card is drawn on it, unless the message shows the card already.
 *
 * Guarantees: if a response is lost and the message is sent again, no card with an old state or a working button remains. A platform that
 * recognizes keys has one message, which the caller draws again. Other platforms receive a neutral card first, without actions.
 */
import { Effect } from "effect"
import {
  type Card,
  type ChatPlatform,
  type Destination,
  type MessageRef,
  type NotSent,
  type PlatformUnavailable,
  Platforms
} from "../platform/ChatPlatform.ts"
import { ButtonActions } from "../button/ButtonActions.ts"
import type { Follow } from "./Follows.ts"
import type { RequestCard, RequestCardStore } from "./RequestCardStore.ts"

// Sending of the card of a request that needs a person.
//
// Guarantees: the card is sent once. A request that was resolved while its card was sent shows no button.

export interface RequestCardToSend<Id, Summary, State> {
  readonly store: RequestCardStore<Id, Summary, State>
  readonly stored: RequestCard<Id, Summary, State> & { readonly isNew: boolean }
  readonly card: Card
  /** Ids of its buttons. */
  readonly actionIds: ReadonlyArray<string>
}

/** Sends the card, or draws it again. Returns the state if the request was resolved meanwhile: the caller draws that. */
export const sendRequestCard = Effect.fn("NewCard.send")(function* <Id extends string, Summary, State>(
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

export interface NewCard {
  readonly where: Destination
  readonly card: Card
  /** The same at every attempt. */
  readonly key: string
  /** Whether an earlier attempt may have sent the message, with an older card. */
  readonly repeated: boolean
}

export interface SentCard {
  readonly message: MessageRef
  /** Whether the message shows the card. If not, the caller draws it. */
  readonly isShown: boolean
}

const neutralTitle: Card["title"] = { en: "A task in Corral", zh: "Corral 中的任务" }

/** The card without a state and without actions. */
const neutralCard = ({ buttons, language, lines }: Card): Card => ({
  language,
  title: neutralTitle,
  tone: "neutral",
  lines: lines.slice(0, 1),
  buttons: buttons.filter(({ _tag }) => _tag === "Link")
})

/** Sends the message of a card. `save` runs before anything is drawn on it. */
export const newCard = <E, R>(
  platform: ChatPlatform,
  { card, key, repeated, where }: NewCard,
  save: (message: MessageRef) => Effect.Effect<void, E, R>
): Effect.Effect<SentCard, E | NotSent | PlatformUnavailable, R> => {
  const { recognizesKeys } = platform
  const first = recognizesKeys ? card : neutralCard(card)
  return platform.send(where, { _tag: "Card", card: first }, key).pipe(
    Effect.tap(save),
    Effect.map((message) => ({ message, isShown: recognizesKeys && !repeated }))
  )
}
