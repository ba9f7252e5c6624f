/**
 * Threads of one run with their turns: the agent's own thread, and those of its sub-agents. At most one turn of a thread is active.
 *
 * Guarantees: a turn ends once, and only while it is the active one. So the end of an earlier turn, which a continued conversation may repeat,
 * ends nothing.
 */
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"

export class Threads {
  /** The agent's own thread; `undefined` until it is open. */
  agentThread: string | undefined
  readonly #active = new Map<string, string>()
  readonly #ended = new Map<string, string>()

  /** The thread of a notification or a request. Without a thread it is about the agent itself. */
  threadOf(params: JsonObject): string {
    return textOf(params["threadId"]) ?? this.agentThread ?? ""
  }

  isOwn(thread: string): boolean {
    return thread === (this.agentThread ?? thread)
  }

  /** The active turn of a thread. */
  turnOf(thread: string | undefined): string | undefined {
    return thread === undefined ? undefined : this.#active.get(thread)
  }

  /** Threads with an active turn. */
  get active(): ReadonlyMap<string, string> {
    return this.#active
  }

  /** A turn has started. Returns false if it is known, or has ended. */
  start(thread: string, turn: unknown): boolean {
    const id = textOf(objectOf(turn)["id"])
    if (id === undefined || id === this.#active.get(thread) || id === this.#ended.get(thread)) return false
    this.#active.set(thread, id)
    return true
  }

  /** A turn has ended. Returns false if it is not the active one. */
  end(thread: string, turn: string | undefined): boolean {
    if (turn === undefined || turn !== this.#active.get(thread)) return false
    this.#active.delete(thread)
    this.#ended.set(thread, turn)
    return true
  }
}
