/**
 * Handling of chat events for a Gateway with a Hub: conversations, and following of tasks. Layers over the store and the platforms.
 */
import { Effect, Layer, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { ButtonActions } from "./action/ButtonActions.ts"
import { StoredAnswers } from "./conversation/StoredAnswers.ts"
import { AccountLinks } from "./conversation/AccountLinks.ts"
import { Clicks } from "./conversation/Clicks.ts"
import { ConversationHandler } from "./conversation/ConversationHandler.ts"
import { Decisions } from "./conversation/Decisions.ts"
import { UserNames } from "./hub/UserNames.ts"
import * as phrases from "./conversation/Phrases.ts"
import { LocationPicker } from "./conversation/LocationPicker.ts"
import { WorkLocations } from "./conversation/WorkLocations.ts"
import { ChatCommands } from "./conversation/ChatCommands.ts"
import { sendKey, makeResponder } from "./conversation/Responder.ts"
import { Conversations } from "./conversation/Conversations.ts"
import { UnlinkedAnswers } from "./conversation/UnlinkedAnswers.ts"
import { ChatTasks } from "./conversation/ChatTasks.ts"
import { ApprovalCards } from "./following/ApprovalCards.ts"
import { TaskFollower } from "./following/TaskFollower.ts"
import { ApprovalCardStore } from "./following/ApprovalCardStore.ts"
import { Follows } from "./following/Follows.ts"
import * as Notices from "./handling/Notices.ts"
import { eventKeyOf, stampEvent } from "./handling/Stamp.ts"
import * as Workers from "./handling/Workers.ts"
import { Hub, type HubAddress } from "./hub/Hub.ts"
import type { Inbound } from "./platform/ChatPlatform.ts"
import { Platforms } from "./platform/Platforms.ts"

/** Tells the sender of an event that was given up, where they wrote; on a card, the person alone. */
const noticeFor = Effect.fnUntraced(function* (inbound: Inbound) {
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

const working = Layer.unwrap(
  Effect.gen(function* () {
    const { handler } = yield* ConversationHandler
    const platforms = yield* Platforms
    return Layer.merge(
      Workers.workersLayer(platforms.all, { handler }),
      Notices.noticesLayer((inbound) => Effect.provideService(noticeFor(inbound), Platforms, platforms))
    )
  })
)

const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const kept = [
      yield* ButtonActions,
      yield* StoredAnswers,
      yield* UnlinkedAnswers,
      yield* Follows,
      yield* Conversations
    ]
    const forget = Effect.forEach(kept, ({ deleteOld }) => deleteOld, { discard: true })
    const told = Effect.catchCause(forget, (cause) => Effect.logWarning("failed to delete old rows", cause))
    yield* Effect.forkScoped(Effect.repeat(told, Schedule.spaced("1 hour")))
  })
)

/** Conversations with that Hub. Needs the store, the inbox, and who is being answered. */
export const chatHandlingLayer = (address: HubAddress) =>
  Layer.mergeAll(working, forgetting).pipe(
    Layer.provide(ConversationHandler.layer),
    Layer.provide(Layer.mergeAll(Clicks.layer, ChatCommands.layer)),
    Layer.provide(Layer.mergeAll(ChatTasks.layer, Decisions.layer, AccountLinks.layer)),
    Layer.provide(Layer.mergeAll(WorkLocations.layer, LocationPicker.layer, TaskFollower.layer)),
    Layer.provide(ApprovalCards.layer),
    Layer.provide(
      Layer.mergeAll(
        ButtonActions.layer(address.token),
        ApprovalCardStore.layer,
        Follows.layer,
        UserNames.layer,
        Conversations.layer,
        StoredAnswers.layer,
        UnlinkedAnswers.layer,
        Hub.layer(address)
      )
    ),
    Layer.provide(FetchHttpClient.layer)
  )
