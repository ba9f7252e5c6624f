/**
 * A new card in a chat, in two steps: a message is sent and kept, then the card is drawn in its place.
 *
 * Guarantees: where the response to the first step is lost and the step is repeated, no card with an old state or a live button remains. A
 * platform that recognizes the key has one message, and what it shows is drawn by the second step. Any other platform is first sent a
 * neutral card, which has nothing to click and stays true.
 */
import { Effect } from "effect"
import type { Card } from "../platform/Card.ts"
import type {
  ChatPlatform,
  MessageRef,
  NotSent,
  Place,
  PlatformUnavailable
} from "../platform/ChatPlatform.ts"

export interface NewCard {
  readonly where: Place
  readonly card: Card
  /** The same at every attempt. */
  readonly key: string
}

const neutralTitle: Card["title"] = { en: "A task in Corral", zh: "Corral 中的任务" }

/** Without a state and without a button that does something. */
const neutralCard = ({ buttons, language, lines }: Card): Card => ({
  language,
  title: neutralTitle,
  tone: "neutral",
  lines: lines.slice(0, 1),
  buttons: buttons.filter(({ _tag }) => _tag === "Link")
})

/** Sends the message of a card; `keep` saves it before anything is drawn on it. The caller draws the card next, whatever was sent. */
export const newCard = <E, R>(
  platform: ChatPlatform,
  { card, key, where }: NewCard,
  keep: (message: MessageRef) => Effect.Effect<void, E, R>
): Effect.Effect<MessageRef, E | NotSent | PlatformUnavailable, R> => {
  const first = platform.recognizesKeys ? card : neutralCard(card)
  return Effect.tap(platform.send(where, { _tag: "Card", card: first }, key), keep)
}
