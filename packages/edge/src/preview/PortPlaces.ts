/**
 * Where the port of a preview is: on this machine, or inside the network of the confined run that the preview belongs to. Also the ports of a
 * confined run.
 *
 * Guarantees: a preview of a confined run never shows a port of this machine that the run may not use, also after the run has ended.
 */
import { NotFound, PermissionDenied } from "@corral/domain/errors/Failures"
import { Effect, type Scope } from "effect"
import { Unreachable, connectLoopback } from "./Loopback.ts"
import type { PortPlace } from "./PortSource.ts"
import type { Socket } from "node:net"

// Ports that a preview of a confined run may show: those inside the network of the run, and ports of this machine that the run may use.

export interface RunPorts {
  /** A connection to a loopback port inside the network of the run. It is destroyed with the scope. */
  readonly connect: (port: number) => Effect.Effect<Socket, Unreachable, Scope.Scope>
  /** Ports of this machine that the owner listed or granted. They have the same number inside. */
  readonly granted: ReadonlyArray<number>
  /** Ports inside that belong to the confinement. */
  readonly reserved: ReadonlyArray<number>
}

/** The run of a preview. */
export interface PreviewedRun {
  /** The run's folder if it is not the workspace. */
  readonly worktree: string | undefined
  /** Ports of a run with its own network, while its process is alive. Without it, the run's ports are those of this machine. */
  readonly ports: (() => RunPorts | undefined) | undefined
  readonly hasEnded: boolean
}

const ofMachine = (port: number, isOurs: (port: number) => boolean): PortPlace => ({
  name: "of this machine",
  connection: Effect.suspend(() => (isOurs(port) ? Effect.fail(new Unreachable()) : connectLoopback(port)))
})

const insideRun = (port: number, ports: () => RunPorts | undefined): PortPlace => ({
  name: "inside the run",
  connection: Effect.suspend(() => ports()?.connect(port) ?? Effect.fail(new Unreachable()))
})

const isReachable = ({ connection }: PortPlace): Effect.Effect<boolean> =>
  connection.pipe(Effect.match({ onFailure: () => false, onSuccess: () => true }), Effect.scoped)

const notGranted = (port: number) =>
  new PermissionDenied({
    message: `Nothing answers on port ${port} inside the run, and the run may not use port ${port} of this machine. Start the server in the run, list 127.0.0.1:${port} in CORRAL_EDGE_RUN_HOSTS, or preview it without the run.`,
    details: { reason: "not_granted", port }
  })

/** `isOurs` reports ports of this machine that are never shown: the Edge's and those of previews. */
export const placeOfPort = Effect.fnUntraced(function* (
  port: number,
  run: PreviewedRun | undefined,
  isOurs: (port: number) => boolean
): Effect.fn.Return<PortPlace, NotFound | PermissionDenied> {
  const refusal = new PermissionDenied({ message: "That port is the Edge's own." })
  const machine = ofMachine(port, isOurs)
  if (run?.ports === undefined) return isOurs(port) ? yield* refusal : machine
  if (run.hasEnded) return yield* new NotFound({ message: "The run has ended, and its ports with it." })
  const { granted = [], reserved = [] } = run.ports() ?? {}
  if (reserved.includes(port)) return yield* refusal
  if (granted.includes(port)) return isOurs(port) ? yield* refusal : machine
  const inside = insideRun(port, run.ports)
  const isOfMachine = !(yield* isReachable(inside)) && (yield* isReachable(machine))
  return isOfMachine ? yield* notGranted(port) : inside
})
