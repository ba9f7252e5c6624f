/**
 * Means by which the operating system confines programs: how each is tried at the start of an Edge, and how it confines the command of a run.
 *
 * A means reads what a run may do from the run's mounts (`ConfinedRoot`), also if it does not mount.
 */
import type { ConfinementReadiness } from "@corral/domain/http/Health"
import type { ConfinementKind } from "@corral/domain/run/Confinement"
import type { Effect, Scope } from "effect"
import type { RunNetworkOptions } from "../network/RunNetwork.ts"
import type { RunPorts } from "../preview/PortSource.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { IsolatedCommand } from "../workspace/Git.ts"
import type { Mount } from "./Mount.ts"

/** Why runs cannot be confined, and what to do. */
export interface MissingMeans {
  readonly problem: string
  readonly hint: string
}

/** The command of a run, and what it may do. */
export interface ConfinementRequest {
  readonly command: SubprocessSpec
  readonly mounts: ReadonlyArray<Mount>
  /** What the run reaches, and its folder, which does not exist. A means without limits for the network does not open it. */
  readonly network: RunNetworkOptions
  /** Starts the confined command where its mounts find a layer. It is root there, which the program does not see. */
  readonly around?: ((command: IsolatedCommand) => IsolatedCommand) | undefined
}

/** A confined command. */
export interface ConfinedCommand {
  readonly command: SubprocessSpec
  /** Ports in the network of the run, until the scope closes; `undefined` if it has the network of this machine. */
  readonly ports: RunPorts | undefined
}

/** A means that works on this machine. */
export interface ConfinementMeans {
  readonly kind: Exclude<ConfinementKind, "none">
  /** `open`: it does not limit connections. */
  readonly network: ConfinementReadiness["network"]
  /** Whether it mounts, so that single files can be covered in folders that the run writes. */
  readonly mounts?: true | undefined
  /** A command of the Edge that sees only the mounts and has no network, where the means can limit it. Throws if it cannot. */
  readonly isolate: (command: IsolatedCommand, mounts: ReadonlyArray<Mount>) => IsolatedCommand
  /** The confined command. Its network ends with the scope. Fails with a phrase. */
  readonly confine: (request: ConfinementRequest) => Effect.Effect<ConfinedCommand, string, Scope.Scope>
  /** Opens the network of a run again, whose program an earlier Edge confined. Without it, runs end with their Edge. */
  readonly adopt?:
    | ((
        request: Pick<ConfinementRequest, "command" | "network">
      ) => Effect.Effect<ConfinedCommand, string, Scope.Scope>)
    | undefined
}

/** Where a means finds programs, and what of the machine its runs read. */
export interface MachineFolders {
  /** The PATH on which programs are looked up. */
  readonly path: string | undefined
  /** Mounts of the system's folders. */
  readonly system: ReadonlyArray<Mount>
}

/** Tries a means on this machine. */
export type MeansTrial = (machine: MachineFolders) => Effect.Effect<ConfinementMeans | MissingMeans>
