/** Asks somebody where work is to be done: a card with a number for each place, which they alone may choose from. */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { Actions, type Place } from "../action/Actions.ts"
import type { Card } from "../platform/Card.ts"
import type { NotSent, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { plainly } from "../platform/Words.ts"
import * as phrases from "./Phrases.ts"
import { placeName } from "./Places.ts"
import type { Speaker } from "./Speaker.ts"
import type { Spot } from "./Talks.ts"

const LIVES_MS = 3_600_000

export class PlaceChoice extends Context.Service<
  PlaceChoice,
  {
    readonly show: (
      spot: Spot,
      speaker: Speaker,
      places: ReadonlyArray<Place>,
      title: Card["title"]
    ) => Effect.Effect<void, NotSent | PlatformUnavailable | SqlError.SqlError>
  }
>()("corral/gateway/PlaceChoice") {
  static readonly layer = Layer.effect(
    PlaceChoice,
    Effect.gen(function* () {
      const actions = yield* Actions
      const clock = yield* Clock.Clock
      return PlaceChoice.of({
        show: Effect.fnUntraced(function* (
          { base, talk }: Spot,
          { account, language, platform, show }: Speaker,
          options: ReadonlyArray<Place>,
          title: Card["title"]
        ) {
          const expiresAt = clock.currentTimeMillisUnsafe() + LIVES_MS
          const ids = yield* Effect.forEach(options, (place) =>
            actions.offer({
              bot: account,
              meaning: { _tag: "Use", talk, base, place },
              audience: account.account,
              expiresAt
            })
          )
          const sent = yield* show(
            {
              language,
              title,
              tone: "neutral",
              lines: [
                ...options.map((place, at) => plainly(`${at + 1}. ${placeName(place)}`)),
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
          yield* actions.placed(ids, sent)
        })
      })
    })
  )
}
