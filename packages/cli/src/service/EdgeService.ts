/** The Edge inside this process: its settings, and its layer built into a scope. Loaded by `corral up` alone. */
import { builtIn } from "@corral/adapters/Registry"
import * as Edge from "@corral/edge/Edge"
import type { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { fromEnvironment } from "@corral/edge/EdgeSettings"
import { EdgeServer } from "@corral/edge/http/Server"
import { scriptedProgram } from "@corral/edge/scriptedProgram"
import { Context, Effect, Layer } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"

const stopped = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, exitCode: exitCodes.failed })

/** The settings of the environment, with another port where one is given. */
export const configureEdge = (environment: Readonly<Record<string, string>>, port: number | undefined) =>
  fromEnvironment({
    ...environment,
    ...(port === undefined ? {} : { CORRAL_EDGE_PORT: String(port) })
  }).pipe(Effect.mapError(stopped))

/** Serves until the scope closes; gives the server's address. */
export const startEdge = (config: EdgeConfig) =>
  Layer.build(Edge.layer(config, builtIn({ node: process.execPath, scriptedProgram }))).pipe(
    Effect.map((services) => Context.get(services, EdgeServer)),
    Effect.mapError(stopped)
  )
