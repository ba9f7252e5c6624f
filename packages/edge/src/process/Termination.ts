/**
 * Termination of a run's process: a request first, then signals, then SIGKILL for all its processes.
 *
 * The grace period is divided among the steps. When the process has exited, the others get SIGKILL without a wait: what holds stdout open would
 * delay the end of the run. What was printed before is in the pipe, and is read.
 */
import { Deferred, Effect } from "effect"
import { signalConfined, signalGroup } from "./ProcessSweep.ts"
import type { RunChild } from "./RunChild.ts"

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
export const terminate = Effect.fn("Termination.terminate")(function* (
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
export const terminateAfterInput = Effect.fn("Termination.terminateAfterInput")(function* (
  options: TerminationOptions,
  millis: number
) {
  options.child.closeInput()
  if (!(yield* goneWithin(options.exited, millis))) yield* terminate(options, false)
})
