/**
 * The Edge as a layer that requires `EdgeConfig`: it serves until its scope closes. `node dist/edge` runs only this layer, and other Effect
 * programs embed it the same way. Its replaceable parts are references with a default (ADR 46).
 */
import { Effect, Layer, Clock } from "effect"
import { Conflict } from "@corral/domain/errors/Failures"
import { nodeVersionLayer } from "@corral/service/NodeVersion"
import { offering } from "@corral/service/OfferedServices"
import { defaultStreamTimes, StreamTimes } from "@corral/service/stream/StreamTimes"
import * as Telemetry from "@corral/service/telemetry/Telemetry"
import { EdgeConfig } from "./config/EdgeConfig.ts"
import { discoveryLayer } from "./Discovery.ts"
import { EdgeInstance } from "./EdgeInstance.ts"
import { EdgeServer, type EdgeMount, mountedEdge } from "./http/Server.ts"
import { Artifacts } from "./artifact/Artifacts.ts"
import { Attachments } from "./attachment/Attachments.ts"
import { Grants } from "./approval/Grants.ts"
import { Changes } from "./change/Changes.ts"
import { forgetChecks } from "./change/CheckRows.ts"
import { Checks } from "./check/Checks.ts"
import { ChangeSources, LayerSources } from "./change/ChangeSource.ts"
import { Confinement, isolatedGitLayer } from "./confinement/Confinement.ts"
import { RepositoryRecord } from "./confinement/RepositoryRecord.ts"
import { RuntimeStates } from "./confinement/RuntimeStates.ts"
import { WorkspaceCaches } from "./confinement/WorkspaceCaches.ts"
import * as EdgeConfigCheck from "./EdgeConfigCheck.ts"
import { EdgeEventLog } from "./log/EdgeEventLog.ts"
import * as EventDelivery from "./log/EventSink.ts"
import { EdgeAgentHost } from "./http/AgentHost.ts"
import { EventStreams } from "./http/EventStreams.ts"
import { hasLiveRun } from "./log/Runs.ts"
import { EdgeIdempotency } from "./log/EdgeIdempotency.ts"
import { Holder } from "./holder/Holder.ts"
import { HubLink } from "./link/HubLink.ts"
import { LocalToken } from "./LocalToken.ts"
import { Containment } from "./process/Containment.ts"
import { Previews } from "./preview/Previews.ts"
import { EdgeIdentity } from "./run/recovery/Recovery.ts"
import { RunSupervisor } from "./run/RunSupervisor.ts"
import * as IntegrityCheck from "./log/StoreExamination.ts"
import { RawOutputs } from "./raw/RawOutputs.ts"
import { Layers } from "./layer/Layers.ts"
import { Retention } from "./retention/Retention.ts"
import { Presets } from "./runtime/Presets.ts"
import { Prices } from "./runtime/Prices.ts"
import { Runtimes } from "./runtime/Runtimes.ts"
import { EdgeStorage } from "./store/EdgeStorage.ts"
import { Store } from "./store/Store.ts"
import * as HomeLock from "./store/HomeLock.ts"
import { Snapshots } from "./workspace/Snapshots.ts"
import { forgetOldBases } from "./workspace/GroupBases.ts"
import { FileSearch } from "./workspace/FileSearch.ts"
import { Workspaces } from "./workspace/Workspaces.ts"
import { Worktrees } from "./workspace/Worktrees.ts"

/**
 * Deletes artifacts, attachments, snapshots, worktrees, layers, grants and raw output of a run together with its log, old caches and databases, and the
 * grants of a preset whose id gets another meaning.
 */
const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const artifacts = yield* Artifacts
    const attachments = yield* Attachments
    const changes = yield* Changes
    const grants = yield* Grants
    const presets = yield* Presets
    const retention = yield* Retention
    const snapshots = yield* Snapshots
    const store = yield* Store
    const worktrees = yield* Worktrees
    const { home } = yield* EdgeConfig
    retention.onForget(artifacts.forgetRun)
    retention.onForget(snapshots.forget)
    retention.onForget(worktrees.forget)
    const layers = yield* Layers
    retention.onForget(layers.forget)
    // What is undecided in a layer stays until the layer is removed.
    retention.onForget((runId) => store.commit([forgetChecks(runId)]))
    retention.onForget((runId) => (layers.has(runId) ? Effect.void : changes.forget(runId)))
    retention.onForget(grants.forgetRun)
    retention.onForget(attachments.forgetRun)
    retention.onForget((yield* RawOutputs).forgetRun)
    presets.onReplace((id) =>
      hasLiveRun(store, id) ? Effect.fail(runLive()) : Effect.orDie(grants.forgetAgent(id))
    )
    retention.onForget((runId) => Effect.sync(() => new RepositoryRecord(home, runId).remove()))
    retention.onSweep((yield* WorkspaceCaches).sweep)
    retention.onSweep((yield* RuntimeStates).sweep, true)
    const clock = yield* Clock.Clock
    const forgetBases = Effect.suspend(() => forgetOldBases(store, clock.currentTimeMillisUnsafe())).pipe(
      Effect.flatMap((groups) => Effect.forEach(groups, snapshots.forget, { discard: true })),
      Effect.ignore({ log: true })
    )
    retention.onSweep(forgetBases, true)
  })
)

/** After a restart, the Edge reads the output of a live run as that of its agent. */
const runLive = () =>
  new Conflict({
    message: "A run of this agent is in progress. Cancel it or wait for its end, then try again.",
    details: { reason: "run_active" }
  })

/** What must hold before an Edge touches anything: a Node that can run it, a usable configuration, a home that no other Edge uses. */
const startChecks = HomeLock.homeLockLayer.pipe(
  Layer.provide(EdgeConfigCheck.edgeConfigCheckLayer),
  Layer.provide(nodeVersionLayer("An Edge"))
)

const storage = Layer.unwrap(EdgeStorage)

/** Services of an Edge that programs use. */
export type EdgeServices =
  | Artifacts
  | EdgeEventLog
  | Grants
  | Presets
  | Previews
  | RunSupervisor
  | Runtimes
  | Store
  | Workspaces
  | Worktrees

const layerSources = Layer.effect(
  LayerSources,
  Effect.map(Layers, ({ sourceOf }) => ({ sourceOf }))
)

/**
 * Services that runs need, without a server.
 *
 * @internal
 */
export const edgeCoreServices = Layer.mergeAll(
  // After the runs of the last Edge were continued.
  Checks.layer.pipe(Layer.provideMerge(RunSupervisor.layer)),
  Previews.layer,
  forgetting,
  IntegrityCheck.integrityCheckLayer
).pipe(
  // Before a run starts: it reverses decisions that were not finished.
  Layer.provideMerge(Changes.layer.pipe(Layer.provide(Layer.provide(ChangeSources.layer, layerSources)))),
  Layer.provideMerge([
    Layer.unwrap(Effect.map(EdgeConfig, Artifacts.layer)),
    Attachments.layer,
    Grants.layer,
    EdgeIdempotency.layer,
    FileSearch.layer,
    RawOutputs.layer(),
    Retention.layer,
    Runtimes.layer,
    Prices.layer,
    Workspaces.layer,
    Worktrees.layer.pipe(Layer.provide(isolatedGitLayer)),
    Layers.layer.pipe(Layer.provide(isolatedGitLayer), Layer.provideMerge(Snapshots.layer))
  ]),
  // In parallel: the store waits for a thread and looks for processes, containment and confinement wait for a process.
  Layer.provideMerge([
    EdgeIdentity.layer.pipe(
      Layer.provideMerge(Holder.layer),
      Layer.provide(EventDelivery.eventDeliveryLayer),
      Layer.provideMerge(EdgeEventLog.layer),
      Layer.provideMerge(storage)
    ),
    Containment.layer,
    Confinement.layer
  ]),
  Layer.provide(startChecks)
)

/** An Edge without a server, for programs that start and follow runs themselves. */
export const edgeCoreLayer = offering<EdgeServices>()(edgeCoreServices)

const localToken = Layer.unwrap(Effect.map(EdgeConfig, ({ tokenFile }) => LocalToken.layer(tokenFile)))

/**
 * Every service of the routes.
 *
 * @internal
 */
export const edgeServicesLayer = Layer.merge(localToken, HubLink.layer).pipe(
  Layer.provideMerge([edgeCoreServices, EdgeInstance.layer])
)

const streamTimes = Layer.effect(
  StreamTimes,
  Effect.map(EdgeConfig, (config) => config.streamTimes ?? defaultStreamTimes)
)

const telemetry = Layer.unwrap(
  Effect.map(EdgeConfig, (config) => Telemetry.telemetryLayer("edge", config.telemetry))
)

/** The first run would wait for the start of the holder. An Edge whose runs end with it needs none. */
const prepareHolder = Layer.effectDiscard(
  Effect.gen(function* () {
    const { incompatible, prepare } = yield* Holder
    const { orphanMs } = yield* EdgeConfig
    if (orphanMs === 0 || incompatible !== undefined) return
    yield* prepare.pipe(
      // An end meanwhile waits for the holder, and closes its connection: it ends, too.
      Effect.uninterruptible,
      Effect.delay(AFTER_READY),
      Effect.catch(({ message }) =>
        Effect.logWarning("failed to prepare the holder of runs", { cause: message })
      ),
      Effect.forkScoped
    )
  })
)

/** The service is ready by then. */
const AFTER_READY = "50 millis"

/**
 * An Edge below a path of a program's own HTTP server, for `HttpRouter.serve`: its endpoints, its event stream, its health and its metrics page
 * are below the path, and its other work is done as by `edgeLayer`. Requires the router and the server, and the Edge's configuration.
 */
export const edgeRoutes = (options: EdgeMount) =>
  Layer.mergeAll(Retention.hourly, prepareHolder, mountedEdge(options)).pipe(
    Layer.provide([EventStreams.layer, EdgeAgentHost.layer]),
    Layer.provideMerge(edgeServicesLayer),
    Layer.provide([streamTimes, telemetry]),
    offering<EdgeServices>()
  )

/** The whole Edge: services, loopback server, discovery file. Provides `EdgeServer` with its address, and the services. */
export const edgeLayer = Layer.mergeAll(discoveryLayer, Retention.hourly, prepareHolder).pipe(
  Layer.provideMerge(EdgeServer.layer),
  Layer.provide([EventStreams.layer, EdgeAgentHost.layer]),
  Layer.provideMerge(edgeServicesLayer),
  Layer.provide([streamTimes, telemetry]),
  offering<EdgeServer | EdgeServices>()
)
