/** Edge in this process. Loaded only by `corral up`. */
import * as Edge from "@corral/edge/Edge"
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { EdgeServer } from "@corral/edge/http/Server"
import { RunSupervisor } from "@corral/edge/run/RunSupervisor"
import { unusableHome } from "@corral/edge/store/FileReason"
import { HomeInUse, HomeUnusable } from "@corral/edge/store/HomeLock"
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

/** Failure of a start in a home that another Edge uses. */
export const homeInUse = (home: string): CommandFailed =>
  startFailed({
    message: `Corral is already running in ${home}. Use it from another terminal, stop it first, or set CORRAL_HOME to another folder.`
  })

/** Failure of a start, with what a user can do about a home that the Edge cannot use. */
const edgeStartFailed = (home: string, error: { readonly message: string }): CommandFailed => {
  if (error instanceof HomeUnusable && error.isInstallation !== true)
    return startFailed({ message: `${error.message} Set CORRAL_HOME to another folder.` })
  return error instanceof HomeInUse ? homeInUse(home) : startFailed(error)
}

/** Failure of a home that cannot be written. */
export const homeFailed = (home: string, cause: unknown): CommandFailed =>
  edgeStartFailed(home, new HomeUnusable({ message: unusableHome(home, cause) }))

/** Serves until the scope closes. Returns the server, and its runs that outlive it. */
export const startEdge = (config: EdgeConfig) =>
  Layer.build(Layer.provide(Edge.edgeLayer, Layer.succeed(EdgeConfig, config))).pipe(
    Effect.map((services) => {
      const { endAll, lastingRuns } = Context.get(services, RunSupervisor)
      const runs: LastingRuns = { count: lastingRuns, end: endAll, forMs: config.orphanMs }
      return { ...Context.get(services, EdgeServer), runs }
    }),
    Effect.mapError((error) => edgeStartFailed(config.home, error))
  )
