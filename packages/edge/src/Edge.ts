/**
 * An Edge as a layer: give it a config and the adapters it shall offer, and it serves until its scope closes. `node dist/edge` is this
 * and nothing else; another Effect program embeds it the same way.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { defaultStreamTimes, StreamTimes } from "@corral/service/stream/StreamTimes"
import * as Telemetry from "@corral/service/telemetry/Telemetry"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { Artifacts } from "./artifact/Artifacts.ts"
import { Grants } from "./approval/Grants.ts"
import * as Discovery from "./Discovery.ts"
import type { EdgeConfig } from "./config/EdgeConfig.ts"
import { EdgeInstance } from "./EdgeInstance.ts"
import { EventLog } from "./log/EventLog.ts"
import { EventStreams } from "./http/EventStreams.ts"
import { EdgeServer } from "./http/Server.ts"
import { Idempotency } from "./log/Idempotency.ts"
import { HubLink } from "./link/HubLink.ts"
import { LocalToken } from "./LocalToken.ts"
import * as NodeVersion from "./NodeVersion.ts"
import { Containment } from "./process/Containment.ts"
import { Previews } from "./preview/Previews.ts"
import { RunSupervisor } from "./run/RunSupervisor.ts"
import * as IntegrityCheck from "./log/IntegrityCheck.ts"
import { Retention } from "./retention/Retention.ts"
import { Runtimes } from "./runtime/Runtimes.ts"
import { Store } from "./store/Store.ts"
import { Snapshots } from "./workspace/Snapshots.ts"
import { Workspaces } from "./workspace/Workspaces.ts"
import { Worktrees } from "./workspace/Worktrees.ts"

/** What runs live on, without a server: for programs that drive runs themselves. */
export const layerCore = (config: EdgeConfig, adapters: ReadonlyMap<string, RuntimeAdapter>) =>
  Layer.mergeAll(RunSupervisor.layer(config), Previews.layer, forgetting, IntegrityCheck.layer).pipe(
    Layer.provideMerge([
      Artifacts.layer(config),
      EventLog.layer,
      Grants.layer(config),
      Idempotency.layer,
      Retention.layer(config),
      Runtimes.layer(config, adapters),
      Snapshots.layer(config),
      Workspaces.layer(config),
      Worktrees.layer(config)
    ]),
    // Side by side: one waits for a thread, the other for a process.
    Layer.provideMerge([
      Store.layer(join(config.home, "edge.db"), join(config.home, "edge.token")),
      Containment.layer(config)
    ]),
    Layer.provide(NodeVersion.layer)
  )

/** What else is kept of a run goes with its log. */
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

/** The whole Edge: core, loopback server, discovery file. Provides `EdgeServer` with its address, and the core's services. */
export const layer = (config: EdgeConfig, adapters: ReadonlyMap<string, RuntimeAdapter>) =>
  Layer.merge(Discovery.layer(config), Retention.hourly).pipe(
    Layer.provideMerge(EdgeServer.layer(config)),
    Layer.provide([EventStreams.layer, LocalToken.layer(config.tokenFile), HubLink.layer(config)]),
    Layer.provideMerge([layerCore(config, adapters), EdgeInstance.layer]),
    Layer.provide(Layer.succeed(StreamTimes, config.streamTimes ?? defaultStreamTimes)),
    Layer.provide(Telemetry.telemetryLayer("edge", config.telemetry))
  )
