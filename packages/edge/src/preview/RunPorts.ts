/** Ports that a preview of a confined run may show: those inside the network of the run, and ports of this machine that the run may use. */
import type { Effect, Scope } from "effect"
import type { Socket } from "node:net"
import type { Unreachable } from "./Loopback.ts"

export interface RunPorts {
  /** A connection to a loopback port inside the network of the run. It is destroyed with the scope. */
  readonly connect: (port: number) => Effect.Effect<Socket, Unreachable, Scope.Scope>
  /** Ports of this machine that the owner listed or granted. They have the same number inside. */
  readonly granted: ReadonlyArray<number>
  /** Ports inside that belong to the confinement. */
  readonly reserved: ReadonlyArray<number>
}
