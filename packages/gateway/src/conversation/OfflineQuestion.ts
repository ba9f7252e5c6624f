/**
 * Card that asks whether messages wait for their offline machine. Only the user who wrote them can use it. Also the card of any choice between two
 * ways.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions, type ButtonMeaning } from "../button/ButtonActions.ts"
import type { MessageRef, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { ConversationKey } from "./Conversations.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import type { LocalizedText } from "../platform/Card.ts"

// Card that asks the author of a message to choose between two ways. Only this account can use its buttons.

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

export const showChoice = Effect.fn("OfflineQuestion.showChoice")(function* (
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

export class OfflineQuestion extends Context.Service<
  OfflineQuestion,
  {
    readonly show: (
      key: ConversationKey,
      responder: Responder
    ) => Effect.Effect<void, NotSent | PlatformUnavailable | SqlError.SqlError>
    /** Draws the card with the answer and without buttons. A failure is ignored: the buttons have expired. */
    readonly settle: (card: MessageRef, responder: Responder, agreed: boolean) => Effect.Effect<void>
  }
>()("corral/gateway/OfflineQuestion") {
  static readonly layer = Layer.effect(
    OfflineQuestion,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      return OfflineQuestion.of({
        settle: (card, { language, platform }, agreed) =>
          platform
            .update(card, {
              language,
              title: phrases.offlineTitle,
              tone: "neutral",
              lines: [agreed ? phrases.queued : phrases.discarded],
              buttons: []
            })
            .pipe(Effect.ignore),
        show: ({ chatKey, key }, responder) =>
          showChoice(responder, {
            title: phrases.offlineTitle,
            line: phrases.offlineLine,
            first: phrases.sendWhenOnline,
            second: phrases.doNotSend,
            meaningOf: (agreed) => ({ _tag: "Queue", talk: key, base: chatKey, agreed }),
            step: "offline"
          }).pipe(Effect.provideService(ButtonActions, actions))
      })
    })
  )
}
