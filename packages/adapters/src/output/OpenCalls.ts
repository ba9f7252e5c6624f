/**
 * Tool calls of a run without a result, and those of them that the end of a turn closes.
 *
 * A turn ends the agent's own calls. A call of a sub-agent continues, and so does a call that others belong to: open calls, or background work.
 *
 * Guarantees: each step costs the same however many calls are open. The end of a turn costs what it closes.
 */
import { SparseMap } from "@corral/domain/run/SparseMap"
export interface OpenCall {
  readonly tool: string
  /** The call that started the sub-agent whose call this is. */
  readonly parentCallId?: string
}

interface Placed {
  readonly call: OpenCall
  readonly place: number
}

export class OpenCalls {
  readonly #calls = new SparseMap<string, Placed>()
  /** Number of open calls and works that belong to a call, which need not be open itself. */
  readonly #dependents = new SparseMap<string, number>()
  /** Own calls without dependents: the end of the turn closes them. */
  readonly #closable = new SparseMap<string, true>()
  #places = 0

  get(callId: string): OpenCall | undefined {
    return this.#calls.get(callId)?.call
  }

  get ids(): ReadonlyArray<string> {
    return this.#calls.keys()
  }

  /** The calls that the end of a turn closes, in the order in which they were opened. */
  get closable(): ReadonlyArray<string> {
    const placeOf = (callId: string): number => this.#calls.get(callId)?.place ?? 0
    return this.#closable.keys().toSorted((a, b) => placeOf(a) - placeOf(b))
  }

  /** Opens a call. Returns false if it is open. */
  open(callId: string, call: OpenCall): boolean {
    if (this.#calls.has(callId)) return false
    this.#calls.set(callId, { call, place: this.#places++ })
    if (call.parentCallId !== undefined) this.addDependent(call.parentCallId)
    else if (!this.#dependents.has(callId)) this.#closable.set(callId, true)
    return true
  }

  /** Closes a call, and returns it. */
  close(callId: string): OpenCall | undefined {
    const placed = this.#calls.get(callId)
    if (placed === undefined) return undefined
    this.#calls.delete(callId)
    this.#closable.delete(callId)
    const { parentCallId } = placed.call
    if (parentCallId !== undefined) this.removeDependent(parentCallId)
    return placed.call
  }

  /** Work in the background has started that belongs to a call. */
  addDependent(callId: string): void {
    this.#dependents.set(callId, (this.#dependents.get(callId) ?? 0) + 1)
    this.#closable.delete(callId)
  }

  /** That work has ended. */
  removeDependent(callId: string): void {
    const rest = (this.#dependents.get(callId) ?? 1) - 1
    if (rest > 0) return void this.#dependents.set(callId, rest)
    this.#dependents.delete(callId)
    const placed = this.#calls.get(callId)
    if (placed !== undefined && placed.call.parentCallId === undefined) this.#closable.set(callId, true)
  }
}
