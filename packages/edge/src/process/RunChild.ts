/** The process of a run as the run sees it: a child of this Edge (`Subprocess`) or of the holder (`HeldProcess`). */
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"

export interface RunChild {
  /** `undefined` if it could not be started, or is not known yet: the holder reports it a moment after the start. */
  readonly pid: number | undefined
  /** Start time of the process, as `processStartTime` reads it; 0 if it is not known. */
  readonly startTicks: number
  /** Whether its parent is the program that confines the runtime. */
  readonly isConfined: boolean
  /** Whether it has exited, or was not started. */
  readonly isGone: boolean
  /** Ignored if stdin is closed. */
  readonly write: (text: string | Uint8Array) => void
  readonly closeInput: () => void
  /** Leaves stdout unread. */
  readonly pause: () => void
  readonly resume: () => void
  /** Reports how many bytes of stdout were received and are not processed. Absent where `pause` alone limits them. */
  readonly reportUnread?: (bytes: number) => void
}

/** How the process ended. `isHolderLost`: the holder of the run ended, and nothing is known of the process. */
export interface ChildEnd extends ProcessEnd {
  readonly isHolderLost?: true
}

export type ProcessExit = Pick<ProcessEnd, "code" | "signal">

/** What a run receives from its process. `onEnd` or `onSpawnError` is called once. */
export interface RunChildHandlers {
  readonly onChunk: (chunk: Buffer) => void
  /** The process has exited. Some of its output may still arrive. */
  readonly onGone?: (exit: ProcessExit) => void
  readonly onEnd: (end: ChildEnd) => void
  /** The program could not be started. */
  readonly onSpawnError: (error: NodeJS.ErrnoException) => void
}
