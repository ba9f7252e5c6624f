/** Card that asks whether messages wait for their offline machine. Only the user who wrote them can use it. */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions } from "../button/ButtonActions.ts"
import type { MessageRef, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import type { ConversationKey } from "./Conversations.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

/** As long as the messages are kept. */
const LIFETIME_MS = 86_400_000

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
      const clock = yield* Clock.Clock
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
        show: Effect.fn("OfflineQuestion.show")(function* ({ chatKey, key }, responder) {
          const { account, language, replyWithCard } = responder
          const offer = (agreed: boolean) =>
            actions.offer({
              bot: account,
              meaning: { _tag: "Queue", talk: key, base: chatKey, agreed },
              audience: account.account,
              expiresAt: clock.currentTimeMillisUnsafe() + LIFETIME_MS
            })
          const [agree, decline] = [yield* offer(true), yield* offer(false)]
          const sent = yield* replyWithCard(
            {
              language,
              title: phrases.offlineTitle,
              tone: "attention",
              lines: [phrases.offlineLine],
              buttons: [
                { _tag: "Action", label: phrases.sendWhenOnline, actionId: agree, style: "primary" },
                { _tag: "Action", label: phrases.doNotSend, actionId: decline, style: "plain" }
              ]
            },
            "offline"
          )
          yield* actions.attach([agree, decline], sent)
        })
      })
    })
  )
}
