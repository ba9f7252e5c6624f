/**
 * A new card in a chat: a message is sent and kept, then the card is drawn in its place unless the message shows it for certain.
 *
 * Guarantees: where the response to the first step is lost and the step is repeated, no card with an old state or a live button remains. A
 * platform that recognizes the key has one message, and the second step draws what it shows. Any other platform is first sent a
 * neutral card, which has nothing to click and stays true.
 */
import { Effect } from "effect"
import type { Card } from "../platform/Card.ts"
import type {
  ChatPlatform,
  MessageRef,
  NotSent,
  Destination,
  PlatformUnavailable
} from "../platform/ChatPlatform.ts"

export interface NewCard {
  readonly where: Destination
  readonly card: Card
  /** The same at every attempt. */
  readonly key: string
  /** An earlier attempt may have sent it, with what was to be shown then. */
  readonly repeated: boolean
}

export interface SentCard {
  readonly message: MessageRef
  /** Whether the message shows the card. If not, the caller draws it. */
  readonly drawn: boolean
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

/** Sends the message of a card; `keep` saves it before anything is drawn on it. */
export const newCard = <E, R>(
  platform: ChatPlatform,
  { card, key, repeated, where }: NewCard,
  keep: (message: MessageRef) => Effect.Effect<void, E, R>
): Effect.Effect<SentCard, E | NotSent | PlatformUnavailable, R> => {
  const { recognizesKeys } = platform
  const first = recognizesKeys ? card : neutralCard(card)
  return platform.send(where, { _tag: "Card", card: first }, key).pipe(
    Effect.tap(keep),
    Effect.map((message) => ({ message, drawn: recognizesKeys && !repeated }))
  )
}
