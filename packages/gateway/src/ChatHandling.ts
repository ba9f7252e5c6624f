/**
 * Handling of chat events for a Gateway with a Hub: conversations, and following of messages. Layers over the store and the platforms.
 */
import { Effect, Layer, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { ButtonActions } from "./button/ButtonActions.ts"
import { StoredAnswers } from "./answer/StoredAnswers.ts"
import { AccountLinks } from "./linking/AccountLinks.ts"
import { ChangedMessages } from "./conversation/ChangedMessages.ts"
import { ClickHandler } from "./conversation/ClickHandler.ts"
import { ConversationHandler } from "./conversation/ConversationHandler.ts"
import { Decisions } from "./conversation/Decisions.ts"
import { UserNames } from "./store/UserNames.ts"
import * as phrases from "./answer/Phrases.ts"
import { LocationPicker } from "./conversation/LocationPicker.ts"
import { WorkLocations } from "./conversation/WorkLocations.ts"
import { ChatCommands } from "./conversation/ChatCommands.ts"
import { sendKey, makeResponder } from "./answer/Responder.ts"
import { Conversations } from "./conversation/Conversations.ts"
import { UnlinkedAnswers } from "./linking/UnlinkedAnswers.ts"
import { AnswerOffer } from "./conversation/AnswerOffer.ts"
import { Answers } from "./conversation/Answers.ts"
import { ChatMessages } from "./conversation/ChatMessages.ts"
import { ChatSessions } from "./conversation/ChatSessions.ts"
import { KeptMessages } from "./linking/KeptMessages.ts"
import { OfflineQuestion } from "./conversation/OfflineQuestion.ts"
import { SessionCommands } from "./conversation/SessionCommands.ts"
import { ApprovalCards } from "./following/ApprovalCards.ts"
import { MessageFollower } from "./following/MessageFollower.ts"
import { ApprovalCardStore, InputCardStore } from "./following/RequestCardStore.ts"
import { InputCards } from "./following/InputCards.ts"
import { Follows } from "./following/Follows.ts"
import * as Notices from "./handling/Notices.ts"
import { eventKeyOf, stampEvent } from "./handling/Stamp.ts"
import * as Workers from "./handling/Workers.ts"
import { Hub, type HubAddress } from "./hub/Hub.ts"
import type { Inbound } from "./platform/ChatPlatform.ts"
import { Platforms } from "./platform/Platforms.ts"

/** Notifies the sender of an event in the dead letters: in its chat, or privately for a click. */
const noticeFor = Effect.fnUntraced(function* (inbound: Inbound) {
  // Its author did not write to the bot.
  if (inbound.kind === "message_change") return
  const platform = (yield* Platforms).of(inbound.platform)
  const draft = yield* Effect.catchTag(platform.normalize(inbound), "NotUnderstood", () => Effect.undefined)
  const event = draft === undefined ? undefined : stampEvent(draft, inbound, 1)
  if (event !== undefined && event.type !== "identity.binding.required") {
    const { reply, replyPrivately } = yield* makeResponder(platform, event, inbound)
    return yield* event.type === "integration.card.action"
      ? replyPrivately(phrases.failedHere, "failed")
      : reply(phrases.failedHere, "failed")
  }
  if (inbound.chatId === "") return
  yield* platform
    .send(
      { _tag: "Chat", chatId: inbound.chatId },
      { _tag: "Text", text: phrases.failedHere[platform.language] },
      sendKey(eventKeyOf(inbound), "failed")
    )
    .pipe(Effect.catchTag("NotSent", () => Effect.void))
})

const workers = Layer.unwrap(
  Effect.gen(function* () {
    const { handler } = yield* ConversationHandler
    const { handle: onChange } = yield* ChangedMessages
    const platforms = yield* Platforms
    return Layer.merge(
      Workers.workersLayer(platforms.all, { handler, onChange }),
      Notices.noticesLayer((inbound) => Effect.provideService(noticeFor(inbound), Platforms, platforms))
    )
  })
)

const deletion = Layer.effectDiscard(
  Effect.gen(function* () {
    const stores = [
      yield* ButtonActions,
      yield* StoredAnswers,
      yield* UnlinkedAnswers,
      yield* KeptMessages,
      yield* Follows,
      yield* ChatSessions,
      yield* Conversations
    ]
    const deleteOldRows = Effect.forEach(stores, ({ deleteOld }) => deleteOld, { discard: true }).pipe(
      Effect.catchCause((cause) => Effect.logWarning("failed to delete old rows", cause))
    )
    yield* Effect.forkScoped(Effect.repeat(deleteOldRows, Schedule.spaced("1 hour")))
  })
)

/** Conversations with a Hub. Requires the database, the inbox and `PendingAnswers`. */
export const chatHandlingLayer = (address: HubAddress) =>
  Layer.mergeAll(workers, deletion).pipe(
    Layer.provide([ConversationHandler.layer, ChangedMessages.layer]),
    Layer.provide(Layer.mergeAll(ClickHandler.layer, ChatCommands.layer, SessionCommands.layer)),
    Layer.provide(
      Layer.mergeAll(
        AnswerOffer.layer,
        Answers.layer,
        ChatMessages.layer,
        Decisions.layer,
        AccountLinks.layer
      )
    ),
    Layer.provide(
      Layer.mergeAll(WorkLocations.layer, LocationPicker.layer, OfflineQuestion.layer, MessageFollower.layer)
    ),
    Layer.provide(Layer.mergeAll(ApprovalCards.layer, InputCards.layer)),
    Layer.provide(
      Layer.mergeAll(
        ButtonActions.layer(address.token),
        ApprovalCardStore.layer,
        InputCardStore.layer,
        Follows.layer,
        UserNames.layer,
        Conversations.layer,
        ChatSessions.layer,
        KeptMessages.layer(address.token),
        StoredAnswers.layer,
        UnlinkedAnswers.layer,
        Hub.layer(address)
      )
    ),
    Layer.provide(FetchHttpClient.layer)
  )
