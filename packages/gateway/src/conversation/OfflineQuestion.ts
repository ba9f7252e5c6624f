/** Card that asks whether messages wait for their offline machine. Only the user who wrote them can use it. */
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions } from "../button/ButtonActions.ts"
import type { MessageRef, NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { showChoice } from "./ChoiceCard.ts"
import type { ConversationKey } from "./Conversations.ts"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"

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
