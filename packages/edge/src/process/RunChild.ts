/**
 * The process of a run as the run sees it: a child of this Edge (`Subprocess`) or of the holder (`HeldProcess`), and its termination: a request
 * first, then signals, then SIGKILL for all its processes.
 *
 * The grace period is divided among the steps. When the process has exited, the others get SIGKILL without a wait: what holds stdout open would
 * delay the end of the run. What was printed before is in the pipe, and is read.
 */
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { Deferred, Effect } from "effect"
import { signalConfined, signalGroup } from "./ProcessSweep.ts"

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

export interface TerminationOptions {
  readonly child: RunChild
  /** Kills all processes of the run. */
  readonly sweep: Effect.Effect<unknown>
  /** Succeeds when the process has exited. Some of its output may still arrive. */
  readonly exited: Deferred.Deferred<void>
  /** Milliseconds from the first step to SIGKILL. */
  readonly grace: number
}

const goneWithin = (exited: Deferred.Deferred<void>, millis: number) =>
  Effect.timeoutOption(Deferred.await(exited), millis).pipe(Effect.map((exit) => exit._tag === "Some"))

/** Steps: time for the protocol's cancel if the runtime was asked, SIGINT, SIGTERM, then SIGKILL and the sweep. */
export const terminate = Effect.fn("RunChild.terminate")(function* (
  options: TerminationOptions,
  isAsked: boolean
) {
  const { child, exited, grace, sweep } = options
  const signal = (name: NodeJS.Signals) => () => {
    if (child.pid !== undefined) (child.isConfined ? signalConfined : signalGroup)(child.pid, name)
  }
  const signals = [signal("SIGINT"), signal("SIGTERM")]
  const steps = isAsked ? [() => undefined, ...signals] : signals
  for (const act of steps) {
    act()
    if (yield* goneWithin(exited, grace / steps.length)) break
  }
  yield* sweep
})

/** End of a completed turn: closes stdin, waits for the exit, then takes the steps of `terminate`. */
export const terminateAfterInput = Effect.fn("RunChild.terminateAfterInput")(function* (
  options: TerminationOptions,
  millis: number
) {
  options.child.closeInput()
  if (!(yield* goneWithin(options.exited, millis))) yield* terminate(options, false)
})
