/**
 * A Gateway that has a Hub: what comes in is worked off by conversations, and tasks are followed. As layers over the store and the platforms.
 */
import { Effect, Layer, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { Actions } from "./action/Actions.ts"
import { Answers } from "./conversation/Answers.ts"
import { Binding } from "./conversation/Binding.ts"
import { Clicks } from "./conversation/Clicks.ts"
import { Conversation } from "./conversation/Conversation.ts"
import { Deciding } from "./conversation/Deciding.ts"
import { People } from "./conversation/People.ts"
import * as phrases from "./conversation/Phrases.ts"
import { PlaceChoice } from "./conversation/PlaceChoice.ts"
import { Places } from "./conversation/Places.ts"
import { Requests } from "./conversation/Requests.ts"
import { sendKey, speakerOf } from "./conversation/Speaker.ts"
import { Talks } from "./conversation/Talks.ts"
import { UnlinkedAnswers } from "./conversation/UnlinkedAnswers.ts"
import { Work } from "./conversation/Work.ts"
import { ApprovalCards } from "./following/ApprovalCards.ts"
import { Follower } from "./following/Follower.ts"
import { Follows } from "./following/Follows.ts"
import * as Notices from "./handling/Notices.ts"
import { keyOf, stamp } from "./handling/Stamp.ts"
import * as Workers from "./handling/Workers.ts"
import { Hub, type HubAddress } from "./hub/Hub.ts"
import type { Inbound } from "./platform/ChatPlatform.ts"
import { Platforms } from "./platform/Platforms.ts"

/** Tells the sender of an event that was given up, where they wrote; on a card, the person alone. */
const noticeFor = Effect.fnUntraced(function* (inbound: Inbound) {
  const platform = (yield* Platforms).of(inbound.platform)
  const draft = yield* Effect.catchTag(platform.normalize(inbound), "NotUnderstood", () => Effect.undefined)
  const event = draft === undefined ? undefined : stamp(draft, inbound, 1)
  if (event !== undefined && event.type !== "identity.binding.required") {
    const { say, tell } = yield* speakerOf(platform, event, inbound)
    return yield* event.type === "integration.card.action"
      ? tell(phrases.failedHere, "failed")
      : say(phrases.failedHere, "failed")
  }
  if (inbound.chatId === "") return
  yield* platform
    .send(
      { _tag: "Chat", chatId: inbound.chatId },
      { _tag: "Text", text: phrases.failedHere[platform.language] },
      sendKey(keyOf(inbound), "failed")
    )
    .pipe(Effect.catchTag("NotSent", () => Effect.void))
})

const working = Layer.unwrap(
  Effect.gen(function* () {
    const { handler } = yield* Conversation
    const platforms = yield* Platforms
    return Layer.merge(
      Workers.layer(platforms.all, { handler }),
      Notices.layer((inbound) => Effect.provideService(noticeFor(inbound), Platforms, platforms))
    )
  })
)

const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const kept = [yield* Actions, yield* Answers, yield* UnlinkedAnswers, yield* Follows, yield* Talks]
    const forget = Effect.forEach(kept, ({ forgetOld }) => forgetOld, { discard: true })
    const told = Effect.catchCause(forget, (cause) => Effect.logWarning("what is over is still there", cause))
    yield* Effect.forkScoped(Effect.repeat(told, Schedule.spaced("1 hour")))
  })
)

/** Conversations with that Hub. Needs the store, the inbox, and who is being answered. */
export const layer = (address: HubAddress) =>
  Layer.mergeAll(working, forgetting).pipe(
    Layer.provide(Conversation.layer),
    Layer.provide(Layer.mergeAll(Clicks.layer, Requests.layer)),
    Layer.provide(Layer.mergeAll(Work.layer, Deciding.layer, Binding.layer)),
    Layer.provide(Layer.mergeAll(Places.layer, PlaceChoice.layer, Follower.layer)),
    Layer.provide(ApprovalCards.layer),
    Layer.provide(
      Layer.mergeAll(
        Actions.layer(address.token),
        Follows.layer,
        People.layer,
        Talks.layer,
        Answers.layer,
        UnlinkedAnswers.layer,
        Hub.layer(address)
      )
    ),
    Layer.provide(FetchHttpClient.layer)
  )
