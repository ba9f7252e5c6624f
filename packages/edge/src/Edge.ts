/**
 * The Edge as a layer, from its configuration and the adapters that it offers: it serves until its scope closes. `node dist/edge` runs only
 * this layer, and other Effect programs embed it the same way.
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { defaultStreamTimes, StreamTimes } from "@corral/service/stream/StreamTimes"
import * as Telemetry from "@corral/service/telemetry/Telemetry"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { Artifacts } from "./artifact/Artifacts.ts"
import { Grants } from "./approval/Grants.ts"
import * as Discovery from "./Discovery.ts"
import { EdgeConfig } from "./config/EdgeConfig.ts"
import { EdgeInstance } from "./EdgeInstance.ts"
import { EdgeEventLog } from "./log/EdgeEventLog.ts"
import { EventStreams } from "./http/EventStreams.ts"
import { EdgeServer } from "./http/Server.ts"
import { EdgeIdempotency } from "./log/EdgeIdempotency.ts"
import { HubLink } from "./link/HubLink.ts"
import { LocalToken } from "./LocalToken.ts"
import * as NodeVersion from "./NodeVersion.ts"
import { Containment } from "./process/Containment.ts"
import { Previews } from "./preview/Previews.ts"
import { EdgeIdentity } from "./run/Recovery.ts"
import { RunSupervisor } from "./run/RunSupervisor.ts"
import * as IntegrityCheck from "./log/IntegrityCheck.ts"
import { Retention } from "./retention/Retention.ts"
import { Runtimes } from "./runtime/Runtimes.ts"
import { Store } from "./store/Store.ts"
import { Snapshots } from "./workspace/Snapshots.ts"
import { Workspaces } from "./workspace/Workspaces.ts"
import { Worktrees } from "./workspace/Worktrees.ts"

/** Services that runs need, without a server, for programs that start and follow runs themselves. */
export const edgeCoreLayer = (config: EdgeConfig, adapters: ReadonlyMap<string, AnyRuntimeAdapter>) =>
  Layer.mergeAll(RunSupervisor.layer, Previews.layer, forgetting, IntegrityCheck.integrityCheckLayer).pipe(
    Layer.provideMerge([
      Artifacts.layer(config),
      Grants.layer,
      EdgeIdempotency.layer,
      Retention.layer,
      Runtimes.layer(adapters),
      Snapshots.layer,
      Workspaces.layer,
      Worktrees.layer
    ]),
    // In parallel: the store waits for a thread and looks for processes, containment waits for a process.
    Layer.provideMerge([
      EdgeIdentity.layer.pipe(
        Layer.provideMerge(EdgeEventLog.layer),
        Layer.provideMerge(Store.layer(join(config.home, "edge.db"), join(config.home, "edge.token")))
      ),
      Containment.layer
    ]),
    Layer.provideMerge(Layer.succeed(EdgeConfig, config)),
    Layer.provide(NodeVersion.nodeVersionLayer)
  )

/** Deletes artifacts, snapshots, worktrees and grants of a run together with its log. */
const forgetting = Layer.effectDiscard(
  Effect.gen(function* () {
    const artifacts = yield* Artifacts
    const grants = yield* Grants
    const retention = yield* Retention
    const snapshots = yield* Snapshots
    const worktrees = yield* Worktrees
    retention.onForget(artifacts.forgetRun)
    retention.onForget(snapshots.forget)
    retention.onForget(worktrees.forget)
    retention.onForget(grants.forgetRun)
  })
)

/** Every service of the routes, for a program that mounts them in its own server. */
export const edgeServicesLayer = (config: EdgeConfig, adapters: ReadonlyMap<string, AnyRuntimeAdapter>) =>
  Layer.merge(LocalToken.layer(config.tokenFile), HubLink.layer).pipe(
    Layer.provideMerge([edgeCoreLayer(config, adapters), EdgeInstance.layer])
  )

/** The whole Edge: services, loopback server, discovery file. Provides `EdgeServer` with its address, and the services. */
export const edgeLayer = (config: EdgeConfig, adapters: ReadonlyMap<string, AnyRuntimeAdapter>) =>
  Layer.merge(Discovery.discoveryLayer, Retention.hourly).pipe(
    Layer.provideMerge(EdgeServer.layer(config)),
    Layer.provide(EventStreams.layer),
    Layer.provideMerge(edgeServicesLayer(config, adapters)),
    Layer.provide(Layer.succeed(StreamTimes, config.streamTimes ?? defaultStreamTimes)),
    Layer.provide(Telemetry.telemetryLayer("edge", config.telemetry))
  )
