/** A run whose process an earlier Edge started, in the state in which that Edge left it. */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import type { RunChild, RunChildHandlers } from "../process/RunChild.ts"
import type { SubprocessSpec } from "../process/Subprocess.ts"
import type { AdoptedState } from "./KernelState.ts"

/** Milliseconds that have passed for each clock of a run. */
export interface RunElapsed {
  /** Since its creation. */
  readonly age: number
  /** Since its start, without pauses. */
  readonly wall: number
  /** Since its start, without pauses, the time of pending approvals and questions, and the time between its turns. */
  readonly active: number
  /** Since the end of its last turn, without pauses and the time of pending approvals and questions; 0 during a turn. */
  readonly background: number
}

export const noneElapsed: RunElapsed = { age: 0, wall: 0, active: 0, background: 0 }

export interface AdoptedRun extends AdoptedState {
  readonly command: SubprocessSpec
  /** Bytes of stdin that the process has received. */
  readonly stdinBytes: number
  /** What was written to stdin after the protocol's opening, from the first text on. */
  readonly texts: ReadonlyArray<string>
  /** Outputs that were read and not applied. They are redacted. */
  readonly outputs: ReadonlyArray<AdapterOutput>
  readonly elapsed: RunElapsed
  /** Which limit ended the process while no Edge was there. */
  readonly endedBy: "wall" | "cap" | "background" | undefined
  /** Questions whose keys for secret answers are lost, with the runtime's ids. */
  readonly lostKeys: ReadonlyArray<{ readonly inputId: InputRequestId; readonly key: string }>
  /** Whether the process has ended: its clocks have stopped. */
  readonly hasEnded: boolean
  /** Continues with the process. Its output follows the position. */
  readonly attach: (command: SubprocessSpec, handlers: RunChildHandlers) => RunChild
}
