/**
 * Threads of one run with their turns: the agent's own thread, and those of its sub-agents. At most one turn of a thread is active. A sub-agent is a
 * thread that a call started, and its turns are work in the background.
 *
 * Guarantees: a turn ends once, and only while it is the active one. So the end of an earlier turn, which a continued conversation may repeat,
 * ends nothing.
 */
import { type JsonObject, defined, objectOf, textOf } from "../text/Json.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { WorkEnding } from "../output/OpenOutputs.ts"
import { titleLine } from "../text/FirstLine.ts"

// Sub-agents of one run: threads that a call of the agent, or of another sub-agent, started. Each turn of a sub-agent is work in the background.
//
// Guarantees: a sub-agent that was started and has not ended its turn is outstanding work, also after the turn of its parent.

interface SubAgent {
  readonly title: string
  /** The call that started the sub-agent; unknown if it came in a line that was lost. */
  readonly callId?: string
}

export class SubAgents {
  readonly #collector: OutputCollector
  readonly #agents = new Map<string, SubAgent>()
  /** Open calls that start a sub-agent, with its task. The thread may start its turn before its call has named it. */
  readonly #spawning = new Map<string, string | undefined>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** A call starts a sub-agent. */
  spawning(callId: string, task: string | undefined): void {
    this.#spawning.set(callId, task)
  }

  /** A call has ended: it starts no further sub-agent. */
  spawnEnded(callId: string): void {
    this.#spawning.delete(callId)
  }

  /** A call started a sub-agent, or is about one that another call started. */
  spawned(thread: string, callId: string, task: string | undefined): void {
    if (this.#agents.has(thread)) return
    this.#agents.set(thread, { title: titleLine(task ?? "Sub-agent"), callId })
    this.works(thread)
  }

  /** The call that started the sub-agent of a thread, or the thread's id if unknown. */
  parentOf(thread: string): string {
    return this.#agents.get(thread)?.callId ?? thread
  }

  /** The sub-agent of a thread has started a turn. */
  works(thread: string): void {
    const [call, ...others] = this.#spawning
    if (call !== undefined && others.length === 0) this.spawned(thread, ...call)
    const { callId, title } = this.#agents.get(thread) ?? { title: "Sub-agent" }
    this.#collector.startWork({ id: thread, kind: "agent", title, ...defined({ parentCallId: callId }) })
  }

  /** The sub-agent of a thread has ended its turn. */
  rests(thread: string, state: WorkEnding): void {
    this.#collector.endWork(thread, state)
  }
}

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
