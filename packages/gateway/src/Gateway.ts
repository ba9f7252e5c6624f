/**
 * A Gateway as a layer: give it a config and it serves until its scope closes. What comes in is kept; it is worked off where somebody says
 * by whom, and waits otherwise.
 */
import { Effect, Layer, Schedule } from "effect"
import { PersistedQueue } from "effect/persistence"
import { feishu } from "./feishu/Feishu.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import { GatewayServer } from "./http/Server.ts"
import { Inbox } from "./inbox/Inbox.ts"
import type { ChatPlatform } from "./platform/ChatPlatform.ts"
import * as Database from "./store/Database.ts"
import * as Workers from "./handling/Workers.ts"

/** The bots of a config. */
export const platformsOf = (config: GatewayConfig): ReadonlyArray<ChatPlatform> =>
  config.feishu === undefined ? [] : [feishu(config.feishu)]

/** What is kept for a time goes when that is over. A turn that is over is told by its chat. */
const forgetting = Layer.merge(
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { forgetOld } = yield* Inbox
      const forget = Effect.catchCause(forgetOld, (cause) =>
        Effect.logWarning("old events are still there", cause)
      )
      yield* Effect.forkScoped(Effect.repeat(forget, Schedule.spaced("1 hour")))
    })
  ),
  PersistedQueue.layerCleanup({ timeToLive: "1 hour", interval: "10 minutes" })
)

/** The whole Gateway. Provides `GatewayServer` with its address. */
export const layer = (config: GatewayConfig, work?: Workers.WorkOptions) => {
  const platforms = platformsOf(config)
  const working = work === undefined ? Layer.empty : Workers.layer(platforms, work)
  return Layer.mergeAll(GatewayServer.layer(config, platforms), forgetting).pipe(
    // Ends after the server: what it keeps until then may still have its turn.
    Layer.provideMerge(working),
    Layer.provideMerge(Inbox.layer),
    Layer.provideMerge(Database.layer(config))
  )
}
