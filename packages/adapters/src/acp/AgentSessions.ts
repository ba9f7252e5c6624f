/**
 * Sub-agents that have their own session: each is a call of the agent that started it, and work until it ends. What it reports belongs to that
 * call.
 */
import type { OutputCollector } from "../output/OutputCollector.ts"
import { titleLine } from "../text/FirstLine.ts"
import { defined, textOf } from "../text/Json.ts"
import type { SubAgent } from "./AcpExtensions.ts"
import { workEndingOf } from "./AcpWork.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

/** Sessions that are remembered. Beyond that, all are forgotten. */
const MAX_SESSIONS = 10_000

const sessionIn = ({ child_session_id, subagentSessionId }: UnverifiedFields<SubAgent>): string | undefined =>
  textOf(subagentSessionId) ?? textOf(child_session_id)

export class AgentSessions {
  readonly #collector: OutputCollector
  /** Sessions of sub-agents. A session's id is the id of its call. */
  readonly #sessions = new Set<string>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The call of a session; `undefined` for the agent itself. */
  callOf(sessionId: unknown): string | undefined {
    return typeof sessionId === "string" && this.#sessions.has(sessionId) ? sessionId : undefined
  }

  start(update: UnverifiedFields<SubAgent>, parentCallId: string | undefined): void {
    const callId = sessionIn(update)
    if (callId === undefined || this.#sessions.has(callId)) return
    if (this.#sessions.size >= MAX_SESSIONS) this.#sessions.clear()
    this.#sessions.add(callId)
    const title = titleLine(textOf(update.name) ?? textOf(update.description) ?? "") || "Agent"
    const prompt = textOf(update.prompt) ?? textOf(update.task)
    const input = prompt === undefined ? undefined : { prompt }
    this.#collector.openCall({ callId, tool: "Agent", label: title, ...defined({ input, parentCallId }) })
    this.#collector.startWork({ id: callId, kind: "agent", title, parentCallId: callId })
  }

  /** Ends a sub-agent. Its open messages are completed before. */
  end(update: UnverifiedFields<SubAgent>): void {
    const callId = sessionIn(update)
    const ending = workEndingOf(update.state ?? update.status)
    if (callId === undefined || ending === undefined) return
    this.#collector.closeCall({ callId, status: ending === "stopped" ? "cancelled" : ending })
    this.#collector.endWork(callId, ending)
  }
}
