/**
 * How a run's process is ended: asked first, then signalled harder, then killed with everything it left.
 *
 * The whole grace is shared out over the steps that exist; each is left early when the process is gone.
 */
import { Deferred, Effect } from "effect"
import { type ProcessTarget, sweep } from "./Containment.ts"
import { signalGroup } from "./MarkSweep.ts"
import type { Subprocess } from "./Subprocess.ts"

export interface TerminationOptions {
  readonly child: Subprocess
  /** Everything of the run. */
  readonly quarry: ProcessTarget
  /** Succeeds when the process is gone. */
  readonly exited: Deferred.Deferred<void>
  /** Milliseconds from the first step to SIGKILL. */
  readonly grace: number
}

const goneWithin = (exited: Deferred.Deferred<void>, millis: number) =>
  Effect.timeoutOption(Deferred.await(exited), millis).pipe(Effect.map((gone) => gone._tag === "Some"))

/** Protocol cancel (where there is one) → SIGINT → SIGTERM → SIGKILL and the sweep. */
export const terminate = Effect.fnUntraced(function* (
  options: TerminationOptions,
  cancel: string | undefined
) {
  const { child, exited, grace, quarry } = options
  const signal = (name: NodeJS.Signals) => () => {
    if (child.pid !== undefined) signalGroup(child.pid, name)
  }
  const signals = [signal("SIGINT"), signal("SIGTERM")]
  const steps = cancel === undefined ? signals : [() => child.write(cancel), ...signals]
  for (const act of steps) {
    act()
    if (yield* goneWithin(exited, grace / steps.length)) return
  }
  yield* sweep(quarry)
})

/** The turn is over: end of input, some time to leave by itself, then the ladder. */
export const terminateAfterInput = Effect.fnUntraced(function* (options: TerminationOptions, millis: number) {
  options.child.closeInput()
  if (!(yield* goneWithin(options.exited, millis))) yield* terminate(options, undefined)
})
