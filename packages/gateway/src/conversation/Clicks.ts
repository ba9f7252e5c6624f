/**
 * A click on a card of ours. What the button means is looked up; that it stands on the message on which it was put, that it is not over, and
 * that it is this account's to use is checked here; whether the person may is decided by the Hub.
 */
import type { CardAction } from "@corral/domain/chat/Integration"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { type ButtonAction, ButtonActions } from "../action/ButtonActions.ts"
import { PendingAnswers } from "../handling/PendingAnswers.ts"
import { HandlerFailed } from "../handling/Handler.ts"
import { ApprovalCardStore } from "../following/ApprovalCardStore.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { Decisions } from "./Decisions.ts"
import * as phrases from "./Phrases.ts"
import { WorkLocations } from "./WorkLocations.ts"
import type { Responder } from "./Responder.ts"
import { ChatTasks } from "./ChatTasks.ts"

type Failed = HandlerFailed | HubFailed | NotSent | PlatformUnavailable | SqlError.SqlError

/** The card is known before its message is: a click may come between. */
const notPlaced = () =>
  new HandlerFailed({ message: "A button was clicked before its message was known.", permanent: false })

/** Whether the click is on another message than the card's, such as a forwarded copy. */
const isElsewhere = ({ payload }: CardAction, { chatId, messageId }: ButtonAction): boolean =>
  payload.messageId !== messageId || (payload.chatId !== undefined && payload.chatId !== chatId)

export class Clicks extends Context.Service<
  Clicks,
  { readonly handle: (event: CardAction, speaker: Responder) => Effect.Effect<void, Failed> }
>()("corral/gateway/Clicks") {
  static readonly layer = Layer.effect(
    Clicks,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      const answering = yield* PendingAnswers
      const deciding = yield* Decisions
      const cards = yield* ApprovalCardStore
      const hub = yield* Hub
      const places = yield* WorkLocations
      const work = yield* ChatTasks

      return Clicks.of({
        handle: Effect.fnUntraced(function* (event, speaker) {
          const { account, replyPrivately } = speaker
          const action = yield* actions.find(account, event.payload.actionId)
          if (action === undefined) return yield* replyPrivately(phrases.cardExpired)
          if (action.messageId === undefined) return yield* notPlaced()
          if (isElsewhere(event, action)) return yield* replyPrivately(phrases.cardElsewhere)
          if (action.audience !== undefined && action.audience !== account.account)
            return yield* replyPrivately(phrases.refusalText("permission_denied", ""))
          const { meaning, isExpired } = action
          const answered = answering.awaitSent(event.key, Date.parse(event.createdAt))
          switch (meaning._tag) {
            case "Decide": {
              const card = yield* cards.get(meaning.approvalId)
              if (card === undefined) return yield* replyPrivately(phrases.cardExpired)
              if (isExpired || card.state !== "pending") {
                yield* answered
                return yield* replyPrivately(yield* deciding.describeDecision(speaker, card))
              }
              const told = yield* deciding.decide(speaker, card, meaning.decision, answered)
              return told === undefined ? undefined : yield* replyPrivately(told)
            }
            case "Cancel": {
              if (isExpired) {
                // Only to a person to whom the Hub shows the task.
                yield* hub.as(account, ({ tasks }) => tasks.get({ params: { id: meaning.taskId } }))
                return yield* replyPrivately(phrases.refusalText("run_not_cancellable", ""))
              }
              yield* hub.as(account, ({ tasks }) => tasks.cancel({ params: { id: meaning.taskId } }))
              return
            }
            case "Use": {
              if (isExpired) return yield* replyPrivately(phrases.cardExpired)
              yield* answered
              const { base, place, talk } = meaning
              if (!(yield* places.isOffered(account, place)))
                return yield* replyPrivately(phrases.noSuchLocation)
              yield* work.useLocation(
                { key: talk, chatKey: base, chatId: action.chatId ?? "" },
                speaker,
                place
              )
              return yield* actions.expire(meaning.talk)
            }
          }
        })
      })
    })
  )
}
