/**
 * Turns of one run of Claude Code: what the end of a turn leads to, and messages that wait for it.
 *
 * The program may continue by itself after a `result`: for a message, or for work that ended meanwhile. `session_state_changed` with `idle` says
 * that it does not. Until then the outcome waits. A program that does not print its state ends its turn with the `result`.
 *
 * Guarantees: one user message at a time is written, after the turn before has ended. An outcome is emitted when the program waits for work in
 * the background, or is idle.
 */
import type { Outcome } from "@corral/domain/run/RuntimeAdapter"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { userMessage } from "./Frames.ts"

export class ClaudeTurns {
  readonly #collector: OutputCollector
  /** Whether work is outstanding, after which the program continues. */
  readonly #isWorking: () => boolean
  readonly #queued: Array<string> = []
  /** Outcome of the last turn, until it is emitted or the next turn starts. */
  #ended: Outcome | undefined
  #hasStarted = false
  /** Whether a message was written whose turn has not started. */
  #awaitsTurn = false
  /** Whether the program prints its state. */
  #printsState = false
  #isSilent = false

  constructor(collector: OutputCollector, isWorking: () => boolean) {
    this.#collector = collector
    this.#isWorking = isWorking
  }

  /** Whether the program starts a turn for work that ends now: it is idle, or it cannot be known. */
  get startsTurnForWork(): boolean {
    return this.#collector.isIdle || !this.#printsState
  }

  /** Whether the program is idle, and no message was written. */
  get isIdle(): boolean {
    return this.#collector.isIdle && !this.#awaitsTurn
  }

  /** A further user message: text for the program, empty if the message waits. */
  add(text: string): string {
    if (!this.isIdle) {
      this.#queued.push(text)
      return ""
    }
    this.#awaitsTurn = true
    return userMessage(text)
  }

  dropQueued(): void {
    this.#queued.length = 0
  }

  /** A turn starts: the first one with the run. */
  start(): void {
    if (!this.#hasStarted) {
      this.#hasStarted = true
      return
    }
    // A turn in which nothing happened continues as the next one.
    if (this.#isSilent) {
      this.#isSilent = false
      this.#ended = undefined
      return
    }
    const by = this.#awaitsTurn ? { by: "message" as const } : {}
    const ended = this.#ended === undefined ? {} : { ended: this.#ended }
    this.#ended = undefined
    this.#awaitsTurn = false
    this.#collector.startTurn({ ...by, ...ended })
  }

  /** The turn has ended. `queuedTurns`: further messages that the program has. `isSilent`: nothing happened in the turn. */
  end(outcome: Outcome, queuedTurns: number, isSilent: boolean): void {
    this.#ended = outcome
    this.#isSilent = isSilent
    this.#awaitsTurn = false
    if (this.#sendNext()) return
    const continues = this.#printsState || queuedTurns > 0
    if (outcome._tag === "Cancelled" || this.#isWorking() || !continues) this.flush()
  }

  /** The state that the program prints. */
  readState(state: unknown): void {
    this.#printsState = true
    if (state === "idle" && !this.#awaitsTurn && !this.#sendNext()) this.flush()
  }

  /** Writes the next message after a turn that has not failed. */
  #sendNext(): boolean {
    if (this.#ended?._tag !== "Completed") return false
    const next = this.#queued.shift()
    if (next === undefined) return false
    this.#awaitsTurn = true
    this.#collector.emit({ _tag: "Reply", text: userMessage(next) })
    return true
  }

  /** The program has ended. An outcome that waits for what follows does not complete the run: the output is not whole. */
  endProgram(): void {
    if (this.#ended?._tag !== "Completed") this.flush()
  }

  /** Emits the outcome of the last turn, if it waits. */
  flush(): void {
    const ended = this.#ended
    this.#ended = undefined
    if (ended !== undefined) this.#collector.endTurn(ended)
  }
}
