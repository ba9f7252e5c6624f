/**
 * A click on a card of ours. What the button means is looked up; that it stands on the message on which it was put, that it is not over, and
 * that it is this account's to use is checked here; whether the person may is decided by the Hub.
 */
import type { CardAction } from "@corral/domain/chat/Integration"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { type Action, Actions } from "../action/Actions.ts"
import { Answering } from "../handling/Answering.ts"
import { HandlerFailed } from "../handling/Handler.ts"
import { Follows } from "../following/Follows.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { Deciding } from "./Deciding.ts"
import * as phrases from "./Phrases.ts"
import { Places } from "./Places.ts"
import type { Speaker } from "./Speaker.ts"
import { Work } from "./Work.ts"

type Failed = HandlerFailed | HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

/** The card is known before its message is: a click may come between. */
const notPlaced = () =>
  new HandlerFailed({ message: "A button was clicked before its message was known.", permanent: false })

/** A button stands where it was put: a card that somebody has passed on is another message. */
const isElsewhere = ({ payload }: CardAction, { chatId, messageId }: Action): boolean =>
  payload.messageId !== messageId || (payload.chatId !== undefined && payload.chatId !== chatId)

export class Clicks extends Context.Service<
  Clicks,
  { readonly handle: (event: CardAction, speaker: Speaker) => Effect.Effect<void, Failed> }
>()("corral/gateway/Clicks") {
  static readonly layer = Layer.effect(
    Clicks,
    Effect.gen(function* () {
      const actions = yield* Actions
      const answering = yield* Answering
      const deciding = yield* Deciding
      const follows = yield* Follows
      const hub = yield* Hub
      const places = yield* Places
      const work = yield* Work

      return Clicks.of({
        handle: Effect.fnUntraced(function* (event, speaker) {
          const { account, tell } = speaker
          const action = yield* actions.find(account, event.payload.actionId)
          if (action === undefined) return yield* tell(phrases.cardIsOver)
          if (action.messageId === undefined) return yield* notPlaced()
          if (isElsewhere(event, action)) return yield* tell(phrases.cardElsewhere)
          if (action.audience !== undefined && action.audience !== account.account)
            return yield* tell(phrases.refusal("permission_denied", ""))
          const { meaning, over } = action
          const answered = answering.over(event.key, Date.parse(event.createdAt))
          switch (meaning._tag) {
            case "Decide": {
              const card = yield* follows.card(meaning.approvalId)
              if (card === undefined) return yield* tell(phrases.cardIsOver)
              if (over || card.state !== "pending") {
                yield* answered
                return yield* tell(yield* deciding.decided(speaker, card))
              }
              const told = yield* deciding.decide(speaker, card, meaning.decision, answered)
              return told === undefined ? undefined : yield* tell(told)
            }
            case "Cancel": {
              if (over) {
                // Only to a person to whom the Hub shows the task.
                yield* hub.as(account, ({ tasks }) => tasks.get({ params: { id: meaning.taskId } }))
                return yield* tell(phrases.refusal("run_not_cancellable", ""))
              }
              yield* hub.as(account, ({ tasks }) => tasks.cancel({ params: { id: meaning.taskId } }))
              return
            }
            case "Use": {
              if (over) return yield* tell(phrases.cardIsOver)
              yield* answered
              const { base, place, talk } = meaning
              if (!(yield* places.isOffered(account, place))) return yield* tell(phrases.noSuchPlace)
              yield* work.use({ talk, base, chatId: action.chatId ?? "" }, speaker, place)
              return yield* actions.over(meaning.talk)
            }
          }
        })
      })
    })
  )
}
