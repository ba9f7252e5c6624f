/**
 * Output of a runtime that its run has not processed yet, because of too many approval requests: outputs, then the messages after them.
 *
 * Guarantees: everything comes in the order in which the runtime printed it, and nothing is lost. While something waits, the run reads no
 * further output.
 */
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"

/** Maximum number of pending approvals per run. Further requests wait until one is decided. */
export const MAX_OPEN_APPROVALS = 64
/** Maximum number of requests per turn, fewer if they are long. Other runs get their turn in between. */
export const ASKS_PER_TURN = 8

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

  /** Keeps the outputs from `at` on. Only while no outputs wait. */
  hold(outputs: ReadonlyArray<AdapterOutput>, at: number): void {
    this.#outputs = outputs
    this.#at = at
  }

  /** Keeps a message behind everything that waits. */
  defer(message: Message): void {
    this.#messages.push(message)
  }

  /** The outputs that wait, and from where on; they no longer wait. */
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
