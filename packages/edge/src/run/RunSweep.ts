/**
 * The sweep of a run's processes at its end. The termination needs it for what holds the pipes, and so does the run's last step.
 *
 * Guarantees: one sweep after the process has started, however often it is requested. Nothing of a run that was swept can come back.
 */
import { Effect, Semaphore } from "effect"
import { type ProcessTarget, sweep } from "../process/Containment.ts"
import type { RunChild } from "../process/RunChild.ts"
import type { FindSurvivors } from "../process/SharedSearch.ts"

export class RunSweep {
  readonly #child: RunChild
  readonly #target: () => ProcessTarget
  readonly #find: FindSurvivors | undefined
  readonly #lock = Semaphore.makeUnsafe(1)
  /** Searches that found a process. */
  #looks = 0
  #isDone = false

  constructor(child: RunChild, target: () => ProcessTarget, find: FindSurvivors | undefined) {
    this.#child = child
    this.#target = target
    this.#find = find
  }

  /** Kills what is left. Returns the number of searches that found a process meanwhile. */
  get all(): Effect.Effect<number> {
    return Effect.suspend(() => {
      const before = this.#looks
      return Effect.map(this.#lock.withPermit(this.#once), () => this.#looks - before)
    })
  }

  readonly #once = Effect.suspend(() => {
    if (this.#isDone) return Effect.void
    // The holder reports a process a moment after it has started it: what is not known yet may still come.
    const isStarted = this.#child.pid !== undefined
    return Effect.map(sweep(this.#target(), this.#find), (looks) => {
      this.#looks += looks
      this.#isDone = isStarted
    })
  })
}
