/**
 * The Gateway as a layer that requires `GatewayConfig`: it serves until its scope closes. Events are stored, then handled if the
 * configuration names a Hub.
 */
import { offering } from "@corral/service/OfferedServices"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { telemetryLayer } from "@corral/service/telemetry/Telemetry"
import { Effect, Layer, Schedule } from "effect"
import { chatHandlingLayer } from "./ChatHandling.ts"
import { botsOf } from "./ChatPlatforms.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import { PendingAnswers } from "./handling/PendingAnswers.ts"
import { eventKeyOf } from "./handling/Stamp.ts"
import { workersLayer, type WorkOptions } from "./handling/Workers.ts"
import { type GatewayMount, GatewayServer, mountedGateway } from "./http/Server.ts"
import { Inbox } from "./inbox/Inbox.ts"
import { SenderQueues } from "./inbox/SenderQueues.ts"
import { type ChatPlatform, PlatformUnavailable, type StoreInbound } from "./platform/ChatPlatform.ts"
import { countCalls, redactCalls } from "./platform/PlatformCalls.ts"
import { Platforms } from "./platform/Platforms.ts"
import { gatewayDatabaseClockLayer, gatewayDatabaseLayer } from "./store/Database.ts"
import { gatewayStoreMetrics } from "./store/StoreMetrics.ts"

const connectPlatform = ({ connect, id }: ChatPlatform, store: StoreInbound) =>
  connect === undefined
    ? Effect.void
    : connect(store).pipe(
        Effect.tapError(({ message }) =>
          Effect.logWarning("failed to connect to a chat platform", { platform: id, reason: message })
        ),
        Effect.retry(Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("1 minute")])),
        Effect.forkScoped
      )

/** Outbound connections over which platforms send events. */
const connections = Layer.effectDiscard(
  Effect.gen(function* () {
    const pendingAnswers = yield* PendingAnswers
    const inbox = yield* Inbox
    const { all } = yield* Platforms
    const store: StoreInbound = (inbound) =>
      Effect.suspend(() => {
        // The answer is sent as soon as the event is stored.
        const answered =
          inbound.kind === "card_action" ? pendingAnswers.begin(eventKeyOf(inbound)) : () => undefined
        return inbox.store(inbound).pipe(
          Effect.asVoid,
          Effect.mapError(() => new PlatformUnavailable({ message: "The event could not be stored." })),
          Effect.ensuring(Effect.sync(answered))
        )
      })
    yield* Effect.forEach(all, (platform) => connectPlatform(platform, store), { discard: true })
  })
)

const deletion = Layer.effectDiscard(
  Effect.gen(function* () {
    const { deleteOld } = yield* Inbox
    const deleteEvents = Effect.catchCause(deleteOld, (cause) =>
      Effect.logWarning("failed to delete old events", cause)
    )
    yield* Effect.forkScoped(Effect.repeat(deleteEvents, Schedule.spaced("1 hour")))
  })
)

/** The workers: with the given handler, or with the Hub's conversations. Without either, events stay pending. */
const handlingLayer = (
  { hub }: GatewayConfig,
  platforms: ReadonlyArray<ChatPlatform>,
  work: WorkOptions | undefined
) => {
  if (work !== undefined) return workersLayer(platforms, work)
  return hub === undefined ? Layer.empty : chatHandlingLayer(hub)
}

const servicesWith = Effect.fnUntraced(function* (work: WorkOptions | undefined) {
  const config = yield* GatewayConfig
  const metrics = yield* CurrentMetrics
  const platforms = botsOf(config).map((platform) => countCalls(redactCalls(platform), metrics))
  return handlingLayer(config, platforms, work).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        PendingAnswers.layer,
        Layer.provideMerge(Inbox.layer, SenderQueues.layer),
        Platforms.layer(platforms)
      )
    ),
    Layer.provideMerge(gatewayDatabaseClockLayer),
    Layer.provideMerge(gatewayDatabaseLayer)
  )
})

const telemetry = Layer.unwrap(
  Effect.map(GatewayConfig, (config) => telemetryLayer("gateway", config.telemetry))
)

/** Every service of the routes. */
const gatewayServicesLayer = Layer.unwrap(servicesWith(undefined)).pipe(Layer.provideMerge(telemetry))

/** Work of a Gateway that no request starts. */
const ownWork = Layer.mergeAll(connections, deletion, gatewayStoreMetrics)

/**
 * A Gateway below a path of a program's own HTTP server, for `HttpRouter.serve`: its webhooks, its health and its metrics page are below the path.
 * Requires the router and the server, and the Gateway's configuration.
 */
export const gatewayRoutes = (options: GatewayMount) =>
  Layer.merge(mountedGateway(options), ownWork).pipe(Layer.provide(gatewayServicesLayer))

/** The whole Gateway with this handler instead of the Hub's conversations. Provides `GatewayServer` with its address. */
export const gatewayLayerWith = (work: WorkOptions | undefined) =>
  Layer.merge(GatewayServer.layer, ownWork).pipe(
    // Ends after the server: the last stored events may still be handled.
    Layer.provideMerge(Layer.unwrap(servicesWith(work))),
    Layer.provide(telemetry),
    offering<GatewayServer>()
  )

/** The whole Gateway. Provides `GatewayServer` with its address. */
export const gatewayLayer = gatewayLayerWith(undefined)
