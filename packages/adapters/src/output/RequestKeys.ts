/**
 * Keys of what a runtime requests in one run: approvals, or questions. Each key is requested, answered and withdrawn at most once.
 */
import { SparseMap } from "@corral/domain/run/SparseMap"

export class RequestKeys {
  readonly #states = new SparseMap<string, "open" | "answered" | "withdrawn">()

  /** Records a request. Returns false if the key was used before. */
  open(key: string): boolean {
    if (this.#states.has(key)) return false
    this.#states.set(key, "open")
    return true
  }

  /** Records the answer. Returns false if the request is not open. */
  answer(key: string): boolean {
    return this.#close(key, "answered")
  }

  /** Records that the runtime no longer waits. Returns false if the request is not open. */
  withdraw(key: string): boolean {
    return this.#close(key, "withdrawn")
  }

  #close(key: string, state: "answered" | "withdrawn"): boolean {
    if (this.#states.get(key) !== "open") return false
    this.#states.set(key, state)
    return true
  }
}
