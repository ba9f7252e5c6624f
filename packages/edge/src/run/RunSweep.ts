/**
 * The sweep of a run's processes at its end. The termination needs it for what holds the pipes, and so does the run's last step.
 *
 * Guarantees: one sweep after the process has started, however often it is requested. Nothing of a run that was swept can come back.
 */
import { Effect, Semaphore } from "effect"
import { type ProcessTarget, sweep } from "../process/Containment.ts"
import { processStartTime } from "../process/MarkSearch.ts"
import type { RunChild } from "../process/RunChild.ts"
import type { FindSurvivors } from "../process/SharedSearch.ts"

/** Processes of a run, however they are found. The process that the run has started comes with its number. */
type Processes = Omit<ProcessTarget, "leader" | "since">

export class RunSweep {
  readonly #child: RunChild
  readonly #processes: Processes
  readonly #find: FindSurvivors | undefined
  #since: number | undefined
  #lock: Semaphore.Semaphore | undefined
  /** Searches that found a process. */
  #looks = 0
  #isDone = false

  constructor(child: RunChild, processes: Processes, find: FindSurvivors | undefined) {
    this.#child = child
    this.#processes = processes
    this.#find = find
    this.#readStart()
  }

  /** Kills what is left. Returns the number of searches that found a process meanwhile. */
  get all(): Effect.Effect<number> {
    return Effect.suspend(() => {
      const before = this.#looks
      this.#lock ??= Semaphore.makeUnsafe(1)
      return Effect.map(this.#lock.withPermit(this.#once()), () => this.#looks - before)
    })
  }

  #once(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#isDone) return Effect.void
      this.#readStart()
      // The holder reports a process a moment after it has started it: what is not known yet may still come.
      const isStarted = this.#child.pid !== undefined
      const target = { ...this.#processes, leader: this.#child.pid, since: this.#since }
      return Effect.map(sweep(target, this.#find), (looks) => {
        this.#looks += looks
        this.#isDone = isStarted
      })
    })
  }

  /** Read as soon as it is known: later the number may be of another process. */
  #readStart(): void {
    const { pid } = this.#child
    if (pid !== undefined) this.#since ??= processStartTime(pid)
  }
}
