/**
 * A Gateway as a layer: give it a config and it serves until its scope closes. What comes in is kept; it is worked off where somebody says
 * by whom, and waits otherwise.
 */
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import * as Telemetry from "@corral/service/telemetry/Telemetry"
import { Effect, Layer, Schedule } from "effect"
import * as Conversing from "./ChatHandling.ts"
import { feishu } from "./feishu/Feishu.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import { PendingAnswers } from "./handling/PendingAnswers.ts"
import { eventKeyOf } from "./handling/Stamp.ts"
import { GatewayServer } from "./http/Server.ts"
import { Inbox } from "./inbox/Inbox.ts"
import { SenderQueues } from "./inbox/SenderQueues.ts"
import { type ChatPlatform, type StoreInbound, PlatformUnavailable } from "./platform/ChatPlatform.ts"
import { countCalls } from "./platform/CountedCalls.ts"
import { Platforms } from "./platform/Platforms.ts"
import { redactCalls } from "./platform/RedactedCalls.ts"
import { slack } from "./slack/Slack.ts"
import * as Database from "./store/Database.ts"
import * as StoreMetrics from "./store/StoreMetrics.ts"
import * as Workers from "./handling/Workers.ts"

/** The bots of a config. */
export const platformsOf = (config: GatewayConfig): ReadonlyArray<ChatPlatform> => [
  ...(config.feishu === undefined ? [] : [feishu(config.feishu)]),
  ...(config.slack === undefined ? [] : [slack(config.slack)])
]

/** Events that come over connections of the bots' own making. */
const connections = Layer.effectDiscard(
  Effect.gen(function* () {
    const answering = yield* PendingAnswers
    const inbox = yield* Inbox
    const { all } = yield* Platforms
    const ingest: StoreInbound = (inbound) =>
      Effect.suspend(() => {
        // The answer goes as soon as it is kept.
        const answered =
          inbound.kind === "card_action" ? answering.begin(eventKeyOf(inbound)) : () => undefined
        return inbox.keep(inbound).pipe(
          Effect.asVoid,
          Effect.mapError(() => new PlatformUnavailable({ message: "The event could not be kept." })),
          Effect.ensuring(Effect.sync(answered))
        )
      })
    yield* Effect.forEach(
      all,
      ({ connect, id }) =>
        connect === undefined
          ? Effect.void
          : connect(ingest).pipe(
              Effect.tapError(({ message }) =>
                Effect.logWarning("the platform cannot be reached", { platform: id, reason: message })
              ),
              Effect.retry(Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("1 minute")])),
              Effect.forkScoped
            ),
      { discard: true }
    )
  })
)

/** Deletes old events. */
const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const { deleteOld } = yield* Inbox
    const forget = Effect.catchCause(deleteOld, (cause) =>
      Effect.logWarning("failed to delete old events", cause)
    )
    yield* Effect.forkScoped(Effect.repeat(forget, Schedule.spaced("1 hour")))
  })
)

/** By whom it is worked off: who is named, else the Hub's conversations, else nobody, and it waits. */
const workingFor = (
  { hub }: GatewayConfig,
  platforms: ReadonlyArray<ChatPlatform>,
  work: Workers.WorkOptions | undefined
) => {
  if (work !== undefined) return Workers.workersLayer(platforms, work)
  return hub === undefined ? Layer.empty : Conversing.chatHandlingLayer(hub)
}

const serving = (
  config: GatewayConfig,
  platforms: ReadonlyArray<ChatPlatform>,
  work: Workers.WorkOptions | undefined
) =>
  Layer.mergeAll(
    GatewayServer.layer(config, platforms),
    connections,
    forgetting,
    StoreMetrics.gatewayStoreMetrics
  ).pipe(
    // Ends after the server: what it keeps until then may still have its turn.
    Layer.provideMerge(workingFor(config, platforms, work)),
    Layer.provideMerge(
      Layer.mergeAll(
        PendingAnswers.layer,
        Layer.provideMerge(Inbox.layer, SenderQueues.layer),
        Platforms.layer(platforms)
      )
    ),
    Layer.provideMerge(Database.gatewayDatabaseLayer(config))
  )

/** The whole Gateway. Provides `GatewayServer` with its address. `work` takes the place of the Hub's conversations. */
export const gatewayLayer = (config: GatewayConfig, work?: Workers.WorkOptions) =>
  Layer.unwrap(
    Effect.map(CurrentMetrics, (metrics) => {
      const platforms = platformsOf(config).map((platform) => countCalls(redactCalls(platform), metrics))
      return serving(config, platforms, work)
    })
  ).pipe(Layer.provide(Telemetry.telemetryLayer("gateway", config.telemetry)))
