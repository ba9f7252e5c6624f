/**
 * Sub-agents of one run: threads that a call of the agent, or of another sub-agent, started. Each turn of a sub-agent is work in the background.
 *
 * Guarantees: a sub-agent that was started and has not ended its turn is outstanding work, also after the turn of its parent.
 */
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { WorkEnding } from "../output/OutstandingWork.ts"
import { titleLine } from "../text/FirstLine.ts"
import { defined } from "../text/Json.ts"

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
