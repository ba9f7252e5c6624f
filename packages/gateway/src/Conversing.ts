/**
 * A Gateway that has a Hub: what comes in is worked off by conversations, and tasks are followed. As layers over the store and the platforms.
 */
import { Effect, Layer, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { Actions } from "./action/Actions.ts"
import { Binding } from "./conversation/Binding.ts"
import { Clicks } from "./conversation/Clicks.ts"
import { Conversation } from "./conversation/Conversation.ts"
import { Deciding } from "./conversation/Deciding.ts"
import { People } from "./conversation/People.ts"
import * as phrases from "./conversation/Phrases.ts"
import { PlaceChoice } from "./conversation/PlaceChoice.ts"
import { Places } from "./conversation/Places.ts"
import { Requests } from "./conversation/Requests.ts"
import { sendKey } from "./conversation/Speaker.ts"
import { Talks } from "./conversation/Talks.ts"
import { Work } from "./conversation/Work.ts"
import { ApprovalCards } from "./following/ApprovalCards.ts"
import { Follower } from "./following/Follower.ts"
import { Follows } from "./following/Follows.ts"
import { keyOf } from "./handling/Stamp.ts"
import * as Workers from "./handling/Workers.ts"
import { Hub, type HubAddress } from "./hub/Hub.ts"
import type { Inbound } from "./platform/ChatPlatform.ts"
import { Platforms } from "./platform/Platforms.ts"

/** A word to the chat in which something came to nothing. */
const sayFailed = Effect.fnUntraced(function* (inbound: Inbound) {
  if (inbound.chatId === "") return
  const platform = (yield* Platforms).of(inbound.platform)
  yield* platform.send(
    { _tag: "Chat", chatId: inbound.chatId },
    { _tag: "Text", text: phrases.failedHere[platform.language] },
    sendKey(keyOf(inbound), "failed")
  )
})

const working = Layer.unwrap(
  Effect.gen(function* () {
    const { handler } = yield* Conversation
    const platforms = yield* Platforms
    return Workers.layer(platforms.all, {
      handler,
      onDeadLetter: (inbound) =>
        sayFailed(inbound).pipe(Effect.provideService(Platforms, platforms), Effect.ignoreCause)
    })
  })
)

const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const [actions, follows, talks] = [yield* Actions, yield* Follows, yield* Talks]
    const forget = Effect.all([actions.forgetOld, follows.forgetOld, talks.forgetOld], { discard: true })
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
        Hub.layer(address)
      )
    ),
    Layer.provide(FetchHttpClient.layer)
  )
