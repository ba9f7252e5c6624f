/** Card for choosing where the agent works: one numbered button per location. Only the user who receives it can use it. */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions } from "../button/ButtonActions.ts"
import type { Card } from "../platform/Card.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { sameInAllLanguages } from "../platform/LocalizedText.ts"
import * as phrases from "../answer/Phrases.ts"
import { locationName, type OfferedLocation } from "./WorkLocations.ts"
import type { Responder } from "../answer/Responder.ts"
import type { ConversationKey } from "./Conversations.ts"

const LIFETIME_MS = 3_600_000

export class LocationPicker extends Context.Service<
  LocationPicker,
  {
    readonly show: (
      key: ConversationKey,
      responder: Responder,
      locations: ReadonlyArray<OfferedLocation>,
      title: Card["title"]
    ) => Effect.Effect<void, NotSent | PlatformUnavailable | SqlError.SqlError>
  }
>()("corral/gateway/LocationPicker") {
  static readonly layer = Layer.effect(
    LocationPicker,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      const clock = yield* Clock.Clock
      return LocationPicker.of({
        show: Effect.fn("LocationPicker.show")(function* (
          { chatKey, key }: ConversationKey,
          { account, language, platform, replyWithCard }: Responder,
          locations: ReadonlyArray<OfferedLocation>,
          title: Card["title"]
        ) {
          const expiresAt = clock.currentTimeMillisUnsafe() + LIFETIME_MS
          const ids = yield* Effect.forEach(locations, ({ place }) =>
            actions.offer({
              bot: account,
              meaning: { _tag: "Use", talk: key, base: chatKey, place },
              audience: account.account,
              expiresAt
            })
          )
          const sent = yield* replyWithCard(
            {
              language,
              title,
              tone: "neutral",
              lines: [
                ...locations.map(({ isOnline, place }, at) =>
                  phrases.numberedLocation(at + 1, locationName(place), isOnline)
                ),
                phrases.useHint
              ],
              buttons: ids.slice(0, platform.limits.buttons).map((actionId, at) => ({
                _tag: "Action",
                label: sameInAllLanguages(String(at + 1)),
                actionId,
                style: "plain"
              }))
            },
            "choose"
          )
          yield* actions.attach(ids, sent)
        })
      })
    })
  )
}
