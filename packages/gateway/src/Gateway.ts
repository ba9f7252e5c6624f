/**
 * The Gateway as a layer that requires `GatewayConfig`: it serves until its scope closes. Events are stored, then handled if the configuration
 * names a Hub: conversations, and following of messages, as layers over the store and the platforms.
 */
import { offering } from "@corral/service/OfferedServices"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { telemetryLayer } from "@corral/service/telemetry/Telemetry"
import { Effect, Layer, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { botsOf } from "./ChatPlatforms.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import * as phrases from "./answer/Phrases.ts"
import { StoredAnswers, makeResponder, sendKey } from "./answer/Responder.ts"
import { ButtonActions } from "./button/ButtonActions.ts"
import { AnswerOffer } from "./conversation/AnswerOffer.ts"
import { Answers, Decisions } from "./conversation/Answers.ts"
import { ChangedMessages } from "./conversation/ChangedMessages.ts"
import { ChatCommands } from "./conversation/ChatCommands.ts"
import { ChatMessages } from "./conversation/ChatMessages.ts"
import { ChatSessions, Conversations } from "./conversation/Conversations.ts"
import { ClickHandler } from "./conversation/ClickHandler.ts"
import { ConversationHandler } from "./conversation/ConversationHandler.ts"
import { LocationPicker, WorkLocations } from "./conversation/WorkLocations.ts"
import { OfflineQuestion } from "./conversation/PendingMessages.ts"
import { SessionCommands } from "./conversation/SessionCommands.ts"
import { ApprovalCards } from "./following/ApprovalCards.ts"
import { Follows } from "./following/Follows.ts"
import { InputCards } from "./following/InputCards.ts"
import { MessageFollower } from "./following/MessageFollower.ts"
import { ApprovalCardStore, InputCardStore } from "./following/RequestCardStore.ts"
import * as Notices from "./handling/Notices.ts"
import { PendingAnswers } from "./handling/PendingAnswers.ts"
import { eventKeyOf, stampEvent } from "./handling/Handler.ts"
import { type WorkOptions, workersLayer } from "./handling/Workers.ts"
import { type GatewayMount, GatewayServer, mountedGateway } from "./http/Server.ts"
import { Hub, type HubAddress } from "./hub/Hub.ts"
import { Inbox } from "./inbox/Inbox.ts"
import { SenderQueues } from "./inbox/SenderQueues.ts"
import { AccountLinks, UnlinkedAnswers, bindingUpdatesLayer } from "./linking/AccountLinks.ts"
import { KeptMessages } from "./linking/KeptMessages.ts"
import {
  type ChatPlatform,
  type Inbound,
  PlatformUnavailable,
  Platforms,
  type StoreInbound
} from "./platform/ChatPlatform.ts"
import { countCalls, redactCalls } from "./platform/PlatformCalls.ts"
import { gatewayDatabaseClockLayer, gatewayDatabaseLayer } from "./store/Database.ts"
import { gatewayStoreMetrics } from "./store/StoreMetrics.ts"
import { UserNames } from "./following/UserNames.ts"

/** Notifies the sender of an event in the dead letters: in its chat, or privately for a click. */
const noticeFor = Effect.fnUntraced(function* (inbound: Inbound) {
  // Its author did not write to the bot.
  if (inbound.kind === "message_change") return
  const platform = (yield* Platforms).of(inbound.platform)
  const draft = yield* Effect.catchTag(platform.normalize(inbound), "NotUnderstood", () => Effect.undefined)
  const event = draft === undefined ? undefined : stampEvent(draft, inbound, 1)
  if (event !== undefined && event.type !== "identity.binding.required") {
    const { reply, replyPrivately } = yield* makeResponder(platform, event, inbound)
    return yield* event.type === "integration.card.action"
      ? replyPrivately(phrases.failedHere, "failed")
      : reply(phrases.failedHere, "failed")
  }
  if (inbound.chatId === "") return
  yield* platform
    .send(
      { _tag: "Chat", chatId: inbound.chatId },
      { _tag: "Text", text: phrases.failedHere[platform.language] },
      sendKey(eventKeyOf(inbound), "failed")
    )
    .pipe(Effect.catchTag("NotSent", () => Effect.void))
})

const workers = Layer.unwrap(
  Effect.gen(function* () {
    const { handler } = yield* ConversationHandler
    const { handle: onChange } = yield* ChangedMessages
    const platforms = yield* Platforms
    return Layer.merge(
      workersLayer(platforms.all, { handler, onChange }),
      Notices.noticesLayer((inbound) => Effect.provideService(noticeFor(inbound), Platforms, platforms))
    )
  })
)

const chatDeletion = Layer.effectDiscard(
  Effect.gen(function* () {
    const stores = [
      yield* ButtonActions,
      yield* StoredAnswers,
      yield* UnlinkedAnswers,
      yield* KeptMessages,
      yield* Follows,
      yield* ChatSessions,
      yield* Conversations
    ]
    const deleteOldRows = Effect.forEach(stores, ({ deleteOld }) => deleteOld, { discard: true }).pipe(
      Effect.catchCause((cause) => Effect.logWarning("failed to delete old rows", cause))
    )
    yield* Effect.forkScoped(Effect.repeat(deleteOldRows, Schedule.spaced("1 hour")))
  })
)

/**
 * Handling of chat events with a Hub: conversations, and following of messages. Requires the database, the inbox and `PendingAnswers`.
 */
const chatHandlingLayer = (address: HubAddress) =>
  Layer.mergeAll(workers, chatDeletion, bindingUpdatesLayer).pipe(
    Layer.provide([ConversationHandler.layer, ChangedMessages.layer]),
    Layer.provide(Layer.mergeAll(ClickHandler.layer, ChatCommands.layer, SessionCommands.layer)),
    Layer.provide(
      Layer.mergeAll(
        AnswerOffer.layer,
        Answers.layer,
        ChatMessages.layer,
        Decisions.layer,
        AccountLinks.layer
      )
    ),
    Layer.provide(
      Layer.mergeAll(WorkLocations.layer, LocationPicker.layer, OfflineQuestion.layer, MessageFollower.layer)
    ),
    Layer.provide(Layer.mergeAll(ApprovalCards.layer, InputCards.layer)),
    Layer.provide(
      Layer.mergeAll(
        ButtonActions.layer(address.token),
        ApprovalCardStore.layer,
        InputCardStore.layer,
        Follows.layer,
        UserNames.layer,
        Conversations.layer,
        ChatSessions.layer,
        KeptMessages.layer(address.token),
        StoredAnswers.layer,
        UnlinkedAnswers.layer,
        Hub.layer(address)
      )
    ),
    Layer.provide(FetchHttpClient.layer)
  )

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
