/**
 * A Hub as a layer: give it a config and it serves until its scope closes. `node dist/hub` is this and nothing else; another Effect
 * program embeds it the same way.
 */
import * as Telemetry from "@corral/service/telemetry/Telemetry"
import { Effect, Layer, Schedule } from "effect"
import { Approvals } from "./approval/Approvals.ts"
import { Audit } from "./audit/Audit.ts"
import { AuditTrail } from "./audit/AuditTrail.ts"
import { Authority } from "./authority/Authority.ts"
import { ChatBindings } from "./chat/ChatBindings.ts"
import { ChatLinks } from "./chat/ChatLinks.ts"
import { DeviceRegistration } from "./device/DeviceRegistration.ts"
import { Devices } from "./device/Devices.ts"
import { Inventory } from "./device/Inventory.ts"
import type { HubConfig } from "./config/HubConfig.ts"
import { Callers } from "./http/Callers.ts"
import { ClientAddress } from "./http/ClientAddress.ts"
import { Readiness } from "./http/Readiness.ts"
import { HubServer } from "./http/Server.ts"
import { Idempotency } from "./Idempotency.ts"
import { Commands } from "./edges/Commands.ts"
import { ForeignPushes } from "./link/ForeignPushes.ts"
import { KeyRotation } from "./link/KeyRotation.ts"
import { Leases } from "./link/Leases.ts"
import { LinkServer } from "./link/LinkServer.ts"
import { Proofs } from "./link/Proofs.ts"
import { EventSockets } from "./live/EventSockets.ts"
import { ChangeFeed } from "./live/ChangeFeed.ts"
import { Notices } from "./store/Notices.ts"
import { RunFeeds } from "./live/RunFeeds.ts"
import { StreamAuthority } from "./live/StreamAuthority.ts"
import { Projects } from "./project/Projects.ts"
import { WorkspaceLinks } from "./project/WorkspaceLinks.ts"
import { MessageStore } from "./session/MessageStore.ts"
import { SessionAgentStore } from "./session/SessionAgentStore.ts"
import { Sessions } from "./session/Sessions.ts"
import { ApiKeyStore } from "./signin/ApiKeyStore.ts"
import { HubCredentials } from "./signin/HubCredentials.ts"
import { DeviceCodes } from "./signin/DeviceCodes.ts"
import { layerProvider } from "./signin/DevelopmentProvider.ts"
import { GatewayTokens } from "./signin/GatewayTokens.ts"
import { LoginAttempts } from "./signin/LoginAttempts.ts"
import { LogoutTokens } from "./signin/LogoutTokens.ts"
import { ArtifactContents } from "./edges/ArtifactContents.ts"
import { EdgeRouter } from "./edges/EdgeRouter.ts"
import * as Retention from "./run/Retention.ts"
import { RunLog } from "./run/RunLog.ts"
import { RunRequesters } from "./run/RunRequesters.ts"
import { Runs } from "./run/Runs.ts"
import { SessionProject } from "./run/SessionProject.ts"
import { Targets } from "./edges/Targets.ts"
import { SignInStore } from "./signin/SignInStore.ts"
import { Users } from "./signin/Users.ts"
import * as Database from "./store/Database.ts"
import * as StoreMetrics from "./store/StoreMetrics.ts"
import { Dispatcher } from "./task/Dispatcher.ts"
import { Tasks } from "./task/Tasks.ts"

/** Runs as they are mirrored, and the way to where they are. */
const running = ArtifactContents.layer.pipe(
  Layer.provideMerge(EdgeRouter.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Commands.layer,
      RunLog.layer,
      RunRequesters.layer,
      Runs.layer,
      SessionProject.layer,
      Targets.layer
    )
  ),
  Layer.provideMerge(Notices.layer)
)

/** What people and projects live on, without a server: for programs and tests that act on a Hub's store themselves. */
export const layerCore = (config: HubConfig) =>
  Layer.mergeAll(
    Approvals.layer,
    Authority.layer,
    AuditTrail.layer,
    DeviceRegistration.layer,
    Devices.layer,
    Idempotency.layer,
    MessageStore.layer,
    Projects.layer,
    SessionAgentStore.layer,
    Sessions.layer,
    ChatLinks.layer,
    HubCredentials.layer.pipe(Layer.provideMerge([ApiKeyStore.layer, SignInStore.layer])),
    Tasks.layer,
    Users.layer,
    WorkspaceLinks.layer
  ).pipe(
    Layer.provideMerge([
      ChatBindings.layer,
      GatewayTokens.layer(config.gatewayTokens),
      Inventory.layer,
      running
    ]),
    Layer.provideMerge(Audit.layer),
    Layer.provideMerge(Database.layer(config))
  )

/** What is kept for a time goes when that is over. */
const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const { forgetOld } = yield* Idempotency
    const forget = Effect.catchCause(forgetOld, (cause) =>
      Effect.logWarning("old keys are still there", cause)
    )
    yield* Effect.forkScoped(Effect.repeat(forget, Schedule.spaced("1 hour")))
  })
)

/** The ways to sign in, on top of that. */
const layerSignIn = (config: HubConfig) =>
  Layer.mergeAll(DeviceCodes.layer, LoginAttempts.layer, LogoutTokens.layer).pipe(
    Layer.provideMerge(layerProvider(config))
  )

/** Logs as they grow, to those who follow them. */
const live = Layer.merge(EventSockets.layer, ChangeFeed.layer).pipe(
  Layer.provideMerge(StreamAuthority.layer),
  Layer.provideMerge(RunFeeds.layer)
)

/** The links of Edges, and what waits for one. */
const linked = (config: HubConfig) =>
  LinkServer.layer(config.link).pipe(
    Layer.provide([ForeignPushes.layer, KeyRotation.layer]),
    Layer.provide(Leases.layer),
    Layer.provide(Proofs.layer),
    Layer.provideMerge(Dispatcher.layer)
  )

/** Every service that the routes need: for a program that mounts them in its own server. */
export const layerServices = (config: HubConfig) =>
  Layer.mergeAll(Callers.layer, Readiness.layer, linked(config), live).pipe(
    Layer.provideMerge(ClientAddress.layer(config.trustedProxies)),
    Layer.provideMerge(layerSignIn(config)),
    Layer.provideMerge(layerCore(config)),
    Layer.provideMerge(Telemetry.telemetryLayer("hub", config.telemetry))
  )

/** The whole Hub. Provides `HubServer` with its address, and the services. */
export const layer = (config: HubConfig) =>
  Layer.mergeAll(
    HubServer.layer(config),
    forgetting,
    Retention.layer(config.retentionDays),
    StoreMetrics.layer(config.maxConnections)
  ).pipe(Layer.provideMerge(layerServices(config)))
