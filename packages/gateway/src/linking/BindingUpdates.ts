/**
 * Updates of the bindings of a bot's accounts, which the Hub has for this Gateway. A user whose account is suspended learns in the direct chat
 * how it acts again. The chat has said already that an account was linked or unlinked there.
 *
 * Guarantees: an update stays at the Hub until it is handled. Does not: decide as whom an account acts; the Hub does, for each event.
 */
import type { BindingUpdated, NextBindingUpdates } from "@corral/domain/chat/ChatAccount"
import { Effect, Layer } from "effect"
import { sendKey } from "../answer/Responder.ts"
import { Hub } from "../hub/Hub.ts"
import { localizedTextIn } from "../platform/Card.ts"
import { type ChatPlatform, Platforms } from "../platform/ChatPlatform.ts"
import * as linkPhrases from "./LinkPhrases.ts"

const POLL = "10 seconds"
/** Until the Hub is asked again after a failure. An earlier Hub has no updates. */
const PAUSE = "1 minute"

const handleUpdate = Effect.fn("BindingUpdates.handle")(function* (
  platform: ChatPlatform,
  { key, payload: { account, state } }: BindingUpdated
) {
  yield* Effect.logInfo("binding updated", { platform: platform.id, state })
  if (state !== "suspended") return
  const { language = platform.language } = yield* platform.person(account.account)
  const text = localizedTextIn(linkPhrases.suspended, language)
  yield* platform
    .send({ _tag: "Person", userId: account.account }, { _tag: "Text", text }, sendKey(key, "suspended"))
    .pipe(
      Effect.catchTag("NotSent", ({ message }) =>
        Effect.logWarning("failed to send a binding update", { event: key, reason: message })
      )
    )
})

/** Handles what the Hub has, and returns what is handled. */
const handleNext = Effect.fnUntraced(function* (
  platform: ChatPlatform,
  delivered: NextBindingUpdates["delivered"]
) {
  const hub = yield* Hub
  const payload = { platform: platform.id, app: platform.app, delivered }
  const { items } = yield* hub.asGateway(({ integrations }) => integrations.bindingUpdates({ payload }))
  const handled: Array<NextBindingUpdates["delivered"][number]> = []
  for (const { bindingId, event } of items) {
    yield* handleUpdate(platform, event)
    handled.push({ bindingId, state: event.payload.state })
  }
  return handled
})

const followBot = (platform: ChatPlatform) =>
  Effect.gen(function* () {
    let delivered: NextBindingUpdates["delivered"] = []
    for (;;) {
      // Also at the start: a Hub in the same server may not take requests yet, and would leave this one open.
      if (delivered.length === 0) yield* Effect.sleep(POLL)
      delivered = yield* handleNext(platform, delivered)
    }
  }).pipe(
    Effect.catch(({ message }) =>
      Effect.logDebug("failed to read binding updates", { platform: platform.id, reason: message })
    ),
    Effect.andThen(Effect.sleep(PAUSE)),
    Effect.forever
  )

export const bindingUpdatesLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { all } = yield* Platforms
    yield* Effect.forEach(all, (platform) => Effect.forkScoped(followBot(platform)), { discard: true })
  })
)
