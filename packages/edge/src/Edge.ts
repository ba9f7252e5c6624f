/**
 * An Edge as a layer: give it a config and the adapters it shall offer, and it serves until its scope closes. `node dist/edge` is this
 * and nothing else; another Effect program embeds it the same way.
 */
import type { RuntimeAdapter } from "@corral/domain/RuntimeAdapter"
import { Layer } from "effect"
import { join } from "node:path"
import { Artifacts } from "./artifact/Artifacts.ts"
import * as Discovery from "./Discovery.ts"
import type { EdgeConfig } from "./EdgeConfig.ts"
import { EdgeInstance } from "./EdgeInstance.ts"
import { EventLog } from "./EventLog.ts"
import { EventStreams } from "./http/EventStreams.ts"
import { EdgeServer } from "./http/Server.ts"
import { Idempotency } from "./Idempotency.ts"
import { LocalToken } from "./LocalToken.ts"
import { Previews } from "./preview/Previews.ts"
import { RunSupervisor } from "./run/RunSupervisor.ts"
import { Runtimes } from "./runtime/Runtimes.ts"
import { Store } from "./store/Store.ts"
import { Workspaces } from "./workspace/Workspaces.ts"

/** What runs live on, without a server: for programs that drive runs themselves. */
export const layerCore = (config: EdgeConfig, adapters: ReadonlyMap<string, RuntimeAdapter>) =>
  Layer.mergeAll(RunSupervisor.layer(config), Previews.layer).pipe(
    Layer.provideMerge([
      Artifacts.layer(config),
      EventLog.layer,
      Idempotency.layer,
      Runtimes.layer(config, adapters),
      Workspaces.layer(config)
    ]),
    Layer.provideMerge(Store.layer(join(config.home, "edge.db")))
  )

/** The whole Edge: core, loopback server, discovery file. Provides `EdgeServer` with its address, and the core's services. */
export const layer = (config: EdgeConfig, adapters: ReadonlyMap<string, RuntimeAdapter>) =>
  Discovery.layer(config).pipe(
    Layer.provideMerge(EdgeServer.layer(config)),
    Layer.provide([EventStreams.layer, LocalToken.layer(config.tokenFile)]),
    Layer.provideMerge([layerCore(config, adapters), EdgeInstance.layer])
  )
