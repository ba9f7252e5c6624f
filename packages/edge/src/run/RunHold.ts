/**
 * The part of a run that the holder has, so that it outlives its Edge: the process with its pipes, and what the next Edge needs to know.
 *
 * A run without it ends with its Edge.
 */
import type { Effect } from "effect"
import type { RunChild, RunChildHandlers } from "../process/RunChild.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"

export interface RunHold {
  /** The control group of the run at the holder. `undefined` before the start of a program that enters its group by itself. */
  readonly group: string | undefined
  /** Starts the program in the holder. */
  readonly start: (spec: SubprocessSpec, handlers: RunChildHandlers) => RunChild
  /** The adopted process has used that many milliseconds of its time budget. */
  readonly continueAfter: (elapsed: number) => void
  /** The time budget of a paused run stands, also without an Edge. */
  readonly pause: (isPaused: boolean) => void
  /**
   * The end of the background work, in Unix milliseconds, also without an Edge; `undefined` while it is not limited. Without an Edge it counts only
   * until the program prints more than these `applied` bytes.
   */
  readonly limitBackground: (at: number | undefined, applied: number) => void
  /** Keeps the private key of a question with secret answers in memory, for the next Edge. */
  readonly keepKey: (inputId: string, privateKey: string) => void
  /** Whether this Edge leaves the run to the next one. Then nothing of the run is ended or removed. */
  readonly isLeft: () => boolean
  /** The run is over: the holder forgets it. */
  readonly end: Effect.Effect<void>
  /** Closes the connection. The run continues. */
  readonly leave: () => void
}
