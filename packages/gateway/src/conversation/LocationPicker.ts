/** Card for choosing where tasks run: one numbered button per location. Only the person who is asked can use it. */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { ButtonActions, type WorkLocation } from "../action/ButtonActions.ts"
import type { Card } from "../platform/Card.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { plainly } from "../platform/Words.ts"
import * as phrases from "./Phrases.ts"
import { locationName } from "./WorkLocations.ts"
import type { Responder } from "./Responder.ts"
import type { ConversationKey } from "./Conversations.ts"

const LIVES_MS = 3_600_000

export class LocationPicker extends Context.Service<
  LocationPicker,
  {
    readonly show: (
      spot: ConversationKey,
      speaker: Responder,
      places: ReadonlyArray<WorkLocation>,
      title: Card["title"]
    ) => Effect.Effect<void, NotSent | PlatformUnavailable | SqlError.SqlError>
  }
>()("corral/gateway/PlaceChoice") {
  static readonly layer = Layer.effect(
    LocationPicker,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      const clock = yield* Clock.Clock
      return LocationPicker.of({
        show: Effect.fnUntraced(function* (
          { chatKey, key }: ConversationKey,
          { account, language, platform, replyWithCard }: Responder,
          options: ReadonlyArray<WorkLocation>,
          title: Card["title"]
        ) {
          const expiresAt = clock.currentTimeMillisUnsafe() + LIVES_MS
          const ids = yield* Effect.forEach(options, (place) =>
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
                ...options.map((place, at) => plainly(`${at + 1}. ${locationName(place)}`)),
                phrases.useHint
              ],
              buttons: ids.slice(0, platform.limits.buttons).map((actionId, at) => ({
                _tag: "Action",
                label: plainly(String(at + 1)),
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
