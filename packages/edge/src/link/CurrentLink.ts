/** The link of the Edge to its Hub, for calls that may wait for one. */
import { Context, Effect, Latch, Layer } from "effect"
import type { LiveLink } from "./LinkSession.ts"

export class CurrentLink extends Context.Service<
  CurrentLink,
  {
    readonly set: (live: LiveLink | undefined) => void
    /** The live link, once there is one. */
    readonly await: Effect.Effect<LiveLink>
  }
>()("corral/edge/link/CurrentLink") {
  static readonly layer = Layer.sync(CurrentLink, () => {
    const isLive = Latch.makeUnsafe(false)
    let current: LiveLink | undefined
    const next: Effect.Effect<LiveLink> = Effect.flatMap(isLive.await, () =>
      Effect.suspend(() => (current === undefined ? next : Effect.succeed(current)))
    )
    return CurrentLink.of({
      set: (live) => {
        current = live
        if (live === undefined) isLive.closeUnsafe()
        else isLive.openUnsafe()
      },
      await: next
    })
  })
}
