/**
 * The part of a run that the holder has, so that it outlives its Edge: the process with its pipes, and what the next Edge needs to know.
 *
 * A run without it ends with its Edge.
 */
import type { Effect } from "effect"
import type { RunChild, RunChildHandlers } from "../process/RunChild.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { HeldClocks } from "./RunTimeLimits.ts"

export interface RunHold {
  /** The control group of the run at the holder. `undefined` before the start of a program that enters its group by itself. */
  readonly group: string | undefined
  /** Bytes of stdout that are stored for the next Edge. */
  readonly maxOutput?: number | undefined
  /** Starts the program in the holder. */
  readonly start: (spec: SubprocessSpec, handlers: RunChildHandlers) => RunChild
  /** The adopted process has used that many milliseconds of its time budget. */
  readonly continueAfter: (elapsed: number, clocks: HeldClocks) => void
  /** What the clocks follow from now on, also without an Edge. */
  readonly follow: (clocks: HeldClocks) => void
  /** Keeps the private key of a question with secret answers in memory, for the next Edge. */
  readonly keepKey: (inputId: string, privateKey: string) => void
  /** Whether this Edge leaves the run to the next one. Then nothing of the run is ended or removed. */
  readonly isLeft: boolean
  /** The run is over: the holder forgets it. */
  readonly end: Effect.Effect<void>
  /** Closes the connection. The run continues. */
  readonly leave: () => void
}
