/**
 * Backlog of a run: output that is not processed yet because of too many approval requests, then the messages after it.
 *
 * Guarantees: keeps the order in which the runtime printed, and loses nothing. While the backlog is not empty, the run reads no further
 * output.
 */
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"

/** Maximum number of pending approvals and questions per run. Further ones wait until one is decided. */
export const MAX_OPEN_APPROVALS = 64
/** Maximum number of requests per turn, fewer if they are long. Batches of other runs run in between. */
export const REQUESTS_PER_BATCH = 8

export class Backlog<Message> {
  #outputs: ReadonlyArray<AdapterOutput> = []
  #at = 0
  #messages: Array<Message> = []

  get isWaiting(): boolean {
    return this.hasOutputs || this.#messages.length > 0
  }

  get hasOutputs(): boolean {
    return this.#at < this.#outputs.length
  }

  /** Stores the outputs from `at` on. Requires that no outputs are stored. */
  hold(outputs: ReadonlyArray<AdapterOutput>, at: number): void {
    this.#outputs = outputs
    this.#at = at
  }

  /** Appends a message. */
  defer(message: Message): void {
    this.#messages.push(message)
  }

  /** Removes and returns the stored outputs, and the index of the first pending one. */
  takeOutputs(): { readonly outputs: ReadonlyArray<AdapterOutput>; readonly at: number } {
    const taken = { outputs: this.#outputs, at: this.#at }
    this.#outputs = []
    this.#at = 0
    return taken
  }

  takeMessage(): Message | undefined {
    return this.#messages.shift()
  }
}
