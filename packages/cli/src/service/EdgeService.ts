/** Edge in this process. Loaded only by `corral up`. */
import * as Edge from "@corral/edge/Edge"
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { EdgeServer } from "@corral/edge/http/Server"
import { RunSupervisor } from "@corral/edge/run/RunSupervisor"
import { Context, Effect, Layer } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { LastingRuns } from "./LiveRunsAtEnd.ts"

const startFailed = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

/** Reads the settings from the environment. `port` overrides the configured port. */
export const configureEdge = (environment: Readonly<Record<string, string>>, port: number | undefined) =>
  readEdgeConfig({
    ...environment,
    ...(port === undefined ? {} : { CORRAL_EDGE_PORT: String(port) })
  }).pipe(Effect.mapError(startFailed))

/** Serves until the scope closes. Returns the server, and its runs that outlive it. */
export const startEdge = (config: EdgeConfig) =>
  Layer.build(Layer.provide(Edge.edgeLayer, Layer.succeed(EdgeConfig, config))).pipe(
    Effect.map((services) => {
      const { endAll, lastingRuns } = Context.get(services, RunSupervisor)
      const runs: LastingRuns = { count: lastingRuns, end: endAll, forMs: config.orphanMs }
      return { ...Context.get(services, EdgeServer), runs }
    }),
    Effect.mapError(startFailed)
  )
