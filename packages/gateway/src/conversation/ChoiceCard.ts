/** Card that asks the author of a message to choose between two ways. Only this account can use its buttons. */
import { Clock, Effect } from "effect"
import type { Responder } from "../answer/Responder.ts"
import { ButtonActions } from "../button/ButtonActions.ts"
import type { ButtonMeaning } from "../button/ButtonMeaning.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"

/** As long as the messages that wait for the choice are kept. */
const LIFETIME_MS = 86_400_000

interface Choice {
  readonly title: LocalizedText
  readonly line: LocalizedText
  /** Labels of the buttons. */
  readonly first: LocalizedText
  readonly second: LocalizedText
  readonly meaningOf: (isFirst: boolean) => ButtonMeaning
  /** Distinguishes the card from other answers to the same event. */
  readonly step: string
}

export const showChoice = Effect.fn("ChoiceCard.showChoice")(function* (
  { account, language, replyWithCard }: Responder,
  { first, line, meaningOf, second, step, title }: Choice
) {
  const actions = yield* ButtonActions
  const expiresAt = (yield* Clock.currentTimeMillis) + LIFETIME_MS
  const offer = (isFirst: boolean) =>
    actions.offer({ bot: account, meaning: meaningOf(isFirst), audience: account.account, expiresAt })
  const ids = [yield* offer(true), yield* offer(false)] as const
  const sent = yield* replyWithCard(
    {
      language,
      title,
      tone: "attention",
      lines: [line],
      buttons: [
        { _tag: "Action", label: first, actionId: ids[0], style: "primary" },
        { _tag: "Action", label: second, actionId: ids[1], style: "plain" }
      ]
    },
    step
  )
  yield* actions.attach(ids, sent)
})
