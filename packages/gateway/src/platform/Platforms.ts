/** The bots of a Gateway, by platform. */
import { Context, Layer } from "effect"
import type { ChatPlatform } from "./ChatPlatform.ts"

export class Platforms extends Context.Service<
  Platforms,
  {
    readonly all: ReadonlyArray<ChatPlatform>
    /** The platform of a stored event. Dies if it is not configured. */
    readonly of: (id: string) => ChatPlatform
  }
>()("corral/gateway/Platforms") {
  static readonly layer = (platforms: ReadonlyArray<ChatPlatform>) =>
    Layer.sync(Platforms, () => {
      const byId = new Map(platforms.map((platform) => [platform.id, platform]))
      return Platforms.of({
        all: platforms,
        of: (id) => {
          const platform = byId.get(id)
          if (platform === undefined) throw new Error("no platform of this id is set up")
          return platform
        }
      })
    })
}
