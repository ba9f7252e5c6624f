/**
 * The Hub as a layer that requires `HubConfig`: it serves until its scope closes. `node dist/hub` runs only this layer, and other Effect
 * programs embed it the same way.
 */
import { offering } from "@corral/service/OfferedServices"
import * as Telemetry from "@corral/service/telemetry/Telemetry"
import { Effect, Layer } from "effect"
import { Approvals, Inputs } from "./run/RunRequests.ts"
import { AttachmentReads } from "./attachment/MessageAttachments.ts"
import { Uploads, uploadSweepLayer } from "./attachment/Uploads.ts"
import { Audit } from "./audit/Audit.ts"
import { AuditTrail } from "./audit/AuditTrail.ts"
import { HubAuthority } from "./authority/HubAuthority.ts"
import { ChatBindings, ChatBindingUpdates } from "./chat/ChatBindings.ts"
import { ChangeSets } from "./change/ChangeSets.ts"
import { ChatLinks } from "./chat/ChatLinks.ts"
import { AgentConversations } from "./conversation/AgentConversations.ts"
import { ReadPositions } from "./conversation/ReadPositions.ts"
import { SessionExport } from "./conversation/SessionExport.ts"
import { SessionFork } from "./conversation/SessionFork.ts"
import { DeviceRegistration, Devices } from "./device/Devices.ts"
import { SentMessages } from "./conversation/SentMessages.ts"
import { Deliveries } from "./conversation/Deliveries.ts"
import { Inventory } from "./device/Inventory.ts"
import { HubConfig } from "./config/HubConfig.ts"
import { HubAgentHost } from "./http/AgentHost.ts"
import { Callers, ClientAddress } from "./http/Callers.ts"
import { Readiness } from "./http/Public.ts"
import { type HubMount, HubServer, mountedHub } from "./http/Server.ts"
import { SignInRate } from "./http/SignIn.ts"
import { HubIdempotency } from "./HubIdempotency.ts"
import { Commands } from "./edges/Commands.ts"
import { KeyRotation, Leases } from "./link/Leases.ts"
import { ForeignPushes, LinkServer } from "./link/LinkServer.ts"
import { Proofs } from "./link/Proofs.ts"
import { EventSockets } from "./live/EventSockets.ts"
import { ChangeFeed } from "./live/ChangeFeed.ts"
import { Notices } from "./store/Notices.ts"
import { RunFeeds } from "./live/RunFeeds.ts"
import { StreamAuthority } from "./live/StreamAuthority.ts"
import { UserPreferences } from "./preference/UserPreferences.ts"
import { Projects } from "./project/Projects.ts"
import { WorkspaceLinks } from "./project/WorkspaceLinks.ts"
import { MessageStore } from "./session/MessageStore.ts"
import { SessionAgentStore } from "./session/SessionAgentStore.ts"
import { Sessions } from "./session/Sessions.ts"
import { ApiKeyStore } from "./signin/ApiKeyStore.ts"
import { GatewayTokens, HubCredentials } from "./signin/HubCredentials.ts"
import { DeviceCodes } from "./signin/DeviceCodes.ts"
import { identityProviderLayer } from "./signin/DevelopmentProvider.ts"
import { LoginAttempts } from "./signin/LoginAttempts.ts"
import { LogoutTokens } from "./signin/LogoutTokens.ts"
import { ArtifactContents } from "./edges/ArtifactContents.ts"
import { EdgeRouter } from "./edges/EdgeRouter.ts"
import { runRetentionLayer } from "./run/Retention.ts"
import { RunLog } from "./run/RunLog.ts"
import { RunRequesters } from "./run/RunRequesters.ts"
import { Runs } from "./run/Runs.ts"
import { SessionProject } from "./session/SessionTable.ts"
import { Search } from "./search/Search.ts"
import { searchIndexerLayer } from "./search/SearchIndexer.ts"
import { Targets } from "./edges/Targets.ts"
import { SignInStore } from "./signin/SignInStore.ts"
import { Users } from "./signin/Users.ts"
import { hubDatabaseClockLayer, hubDatabaseLayer } from "./store/Database.ts"
import { doSharedWork } from "./store/SharedWork.ts"
import { CommitTime, hubStoreMetricsLayer } from "./store/StoreMetrics.ts"
import { Dispatcher } from "./task/Dispatcher.ts"
import { closedCandidatesLayer } from "./task/ClosedCandidates.ts"
import { TaskGroups } from "./task/TaskGroups.ts"
import { Tasks } from "./task/Tasks.ts"
import { limitNoticesLayer, UsageLimits } from "./usage/UsageLimits.ts"
import { usageMetricsLayer } from "./usage/UsageMetrics.ts"
import { UsageReports } from "./usage/UsageReports.ts"

/** Mirrored runs, and requests to the Edges that execute them. */
const runServices = ArtifactContents.layer.pipe(
  Layer.provideMerge(EdgeRouter.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      ChangeSets.layer,
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

const coreServices = Layer.mergeAll(
  Approvals.layer,
  HubAuthority.layer,
  AuditTrail.layer,
  DeviceRegistration.layer,
  Devices.layer,
  HubIdempotency.layer,
  Inputs.layer,
  SentMessages.layer,
  AgentConversations.layer,
  AttachmentReads.layer,
  Uploads.layer,
  MessageStore.layer,
  Projects.layer,
  ReadPositions.layer,
  Search.layer,
  SessionAgentStore.layer,
  SessionExport.layer,
  SessionFork.layer,
  Sessions.layer,
  ChatBindingUpdates.layer,
  ChatLinks.layer,
  HubCredentials.layer.pipe(Layer.provideMerge([ApiKeyStore.layer, SignInStore.layer])),
  TaskGroups.layer,
  Tasks.layer,
  UsageLimits.layer,
  UsageReports.layer,
  UserPreferences.layer,
  Users.layer,
  WorkspaceLinks.layer
).pipe(
  Layer.provideMerge([ChatBindings.layer, GatewayTokens.layer, Inventory.layer, runServices]),
  Layer.provideMerge(Audit.layer)
)

/**
 * Services of users and projects without an HTTP server, for programs and tests that use a Hub's database directly. They have the clock of the
 * program: a Hub has that of its database.
 *
 * @internal
 */
export const hubCoreLayer = Layer.provideMerge(coreServices, hubDatabaseLayer)

/** Hourly deletion of expired idempotency keys, by one of the Hubs. */
const keyExpiry = Layer.effectDiscard(
  Effect.gen(function* () {
    const { deleteExpired } = yield* HubIdempotency
    yield* doSharedWork("idempotency", "1 hour", deleteExpired)
  })
)

/** Sign-in with the identity provider, on top of the core. */
const signInLayer = Layer.mergeAll(DeviceCodes.layer, LoginAttempts.layer, LogoutTokens.layer).pipe(
  Layer.provideMerge(identityProviderLayer)
)

/** Event streams, change feeds and editors. */
const streams = HubAgentHost.layer.pipe(
  Layer.provideMerge(Layer.merge(EventSockets.layer, ChangeFeed.layer)),
  Layer.provideMerge(StreamAuthority.layer),
  Layer.provideMerge(RunFeeds.layer)
)

/** Links of Edges, dispatch of the tasks that wait for them, and delivery of messages. */
const linkLayer = LinkServer.layer.pipe(
  Layer.provide([ForeignPushes.layer, KeyRotation.layer]),
  Layer.provide(Leases.layer),
  Layer.provide(Proofs.layer),
  Layer.provideMerge(Deliveries.layer),
  Layer.provideMerge(Dispatcher.layer)
)

const telemetry = Layer.unwrap(
  Effect.map(HubConfig, (config) => Telemetry.telemetryLayer("hub", config.telemetry))
)

/**
 * Every service of the routes.
 *
 * @internal
 */
export const hubServicesLayer = Layer.mergeAll(
  Callers.layer,
  Readiness.layer,
  SignInRate.layer,
  linkLayer,
  limitNoticesLayer,
  searchIndexerLayer,
  streams,
  uploadSweepLayer
).pipe(
  Layer.provide(CommitTime.layer),
  Layer.provideMerge(ClientAddress.layer),
  Layer.provideMerge(signInLayer),
  Layer.provideMerge(coreServices),
  Layer.provideMerge(hubDatabaseClockLayer),
  Layer.provideMerge(hubDatabaseLayer),
  Layer.provideMerge(telemetry)
)

/** Work of a Hub that no request starts: deletion of old data, and metrics of the store and of usage. */
const ownWork = Layer.mergeAll(
  keyExpiry,
  runRetentionLayer,
  closedCandidatesLayer,
  hubStoreMetricsLayer,
  usageMetricsLayer
)

/**
 * A Hub below a path of a program's own HTTP server, for `HttpRouter.serve`: its endpoints, the addresses to which a sign-in returns, its cookies,
 * its WebSockets, its health and its metrics page are below the path. Requires the router and the server, and the Hub's configuration.
 */
export const hubRoutes = (options: HubMount) =>
  Layer.merge(mountedHub(options), ownWork).pipe(Layer.provide(hubServicesLayer))

/**
 * The whole Hub with its services, for the command.
 *
 * @internal
 */
export const wholeHubLayer = Layer.merge(HubServer.layer, ownWork).pipe(Layer.provideMerge(hubServicesLayer))

/** The whole Hub. Provides `HubServer` with its address. */
export const hubLayer = offering<HubServer>()(wholeHubLayer)
