/**
 * Background work of an agent, and the turns that it starts by itself, as far as its own extensions of the protocol report them.
 *
 * Four forms: tasks as `session/update`, methods around a turn, the words of a call's result, and sub-agents that have their own session. Timers
 * are planned in words too. A sub-agent's session is a call of the agent that started it, and what it reports belongs to that call.
 *
 * Does not: guess an end. Work whose end an agent does not report is outstanding until the run ends.
 */
import { ClaudeTimers } from "../claude-code/ClaudeWork.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { WorkEnding } from "../output/OpenOutputs.ts"
import { titleLine } from "../text/FirstLine.ts"
import { defined, isJsonObject, type JsonObject, objectOf, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { AsyncTask, BackgroundMeta, SubAgent, TaskReport, UnverifiedFields } from "./AcpSchema.ts"
import { readCallOutput, type ToolCall } from "./ToolCall.ts"
import type { WorkKind } from "@corral/domain/run/Work"
import { capped } from "@corral/domain/text/CappedPattern"

// End of background work, from an agent's word for its state.

/** `undefined` while the work continues. */
const workEndingOf = (state: unknown): WorkEnding | undefined => {
  switch (state) {
    case "completed":
    case "failed":
      return state
    case "stopped":
    case "cancelled":
    case "killed":
      return "stopped"
    default:
      return undefined
  }
}

// Timers of Claude Code behind the Agent Client Protocol, which has only the words of their results, and of the turns that they start.

const created = capped(1_000, /^Scheduled (recurring job|one-shot task) (\S+) \(([^)]*)\)\. (Persisted)?/)
const deleted = capped(1_000, /^Cancelled job (\S+)\.$/m)

/** The result of a successful call, with the fields that Claude Code itself adds to the words; `undefined` for other tools. */
const timerResult = (tool: string, words: string): JsonObject | undefined => {
  switch (tool) {
    case "ScheduleWakeup":
      return { stopped: !words.startsWith("Next wakeup scheduled") }
    case "CronCreate": {
      const [, kind, id, humanSchedule, durable] = created.exec(words) ?? []
      return id === undefined
        ? undefined
        : { id, humanSchedule, recurring: kind === "recurring job", durable: durable !== undefined }
    }
    case "CronDelete": {
      const id = deleted.exec(words)?.[1]
      return id === undefined ? undefined : { id }
    }
    default:
      return undefined
  }
}

/** What started a turn, by the description of its task; `undefined` if no timer did. */
const timerOfTurn = (description: unknown): "wakeup" | "job" | undefined => {
  if (typeof description !== "string") return undefined
  if (description.startsWith("A scheduled wakeup fired")) return "wakeup"
  return description.startsWith("A scheduled task fired") ? "job" : undefined
}

/** What starts and ends a turn that no prompt of ours has started. */
interface OwnTurns {
  readonly start: () => void
  readonly end: (isFailed: boolean) => void
}

/** Id of the work of a goal. An agent has one at a time. */
const GOAL = "goal"

/** The id of work in the output of a call. */
const idInWords = (pattern: RegExp | undefined, call: ToolCall): string | undefined =>
  pattern
    ?.exec(readCallOutput(call) ?? "")
    ?.slice(1)
    .find((group) => group !== undefined)

export class AcpWork {
  readonly #collector: OutputCollector
  readonly #agent: AcpAgent
  readonly #turns: OwnTurns
  /** Ids of tasks that are turns. */
  readonly #turnTasks = new Set<string>()
  /** The calls that started outstanding work. */
  readonly #calls = new Map<string, string>()
  /** Work that has ended, by its call whose result is still to come. */
  readonly #ended = new Map<string, { readonly id: string; readonly ending: WorkEnding }>()

  readonly #timers: ClaudeTimers

  constructor(collector: OutputCollector, agent: AcpAgent, turns: OwnTurns) {
    this.#collector = collector
    this.#timers = new ClaudeTimers(collector)
    this.#agent = agent
    this.#turns = turns
  }

  /** Whether outstanding work belongs to the call. */
  isCall(callId: string): boolean {
    for (const other of this.#calls.values()) if (other === callId) return true
    return false
  }

  /** Reads an update that the schema does not have. Returns false if it is none of these. */
  read(kind: string, update: UnverifiedFields<AsyncTask>): boolean {
    switch (kind) {
      case "async_task_spawned":
        this.#startTask(update)
        return true
      case "async_task_state_update":
        this.#endTask(textOf(update.asyncTaskId), workEndingOf(update.state))
        return true
      case "async_task_progress":
        this.#fireTimer(update, true)
        return true
      default:
        return false
    }
  }

  /** Ends the timer that starts a turn, or has started it. */
  #fireTimer({ description }: UnverifiedFields<AsyncTask>, hasStarted: boolean): void {
    const source = timerOfTurn(description)
    if (source !== undefined) this.#timers.fire(source, hasStarted)
  }

  #startTask(task: UnverifiedFields<AsyncTask>): void {
    const { asyncTaskId, description, name, taskType, toolCallId } = task
    const id = textOf(asyncTaskId)
    if (id === undefined) return
    if (taskType === "turn") {
      this.#fireTimer(task, false)
      this.#turnTasks.add(id)
      return this.#turns.start()
    }
    const kind = taskType === "shell" || taskType === "monitor" ? "command" : "agent"
    this.#start(id, kind, textOf(name) ?? textOf(description), textOf(toolCallId))
  }

  #endTask(id: string | undefined, ending: WorkEnding | undefined): void {
    if (id === undefined || ending === undefined) return
    if (this.#turnTasks.delete(id)) return this.#turns.end(ending === "failed")
    const callId = this.#calls.get(id)
    // The result belongs to the run, which may end with the work.
    if (callId !== undefined && this.#collector.toolOf(callId) !== undefined)
      this.#ended.set(callId, { id, ending })
    else this.#end(id, ending)
  }

  /** Reads a call. The words of its result may say that it continues in the background. */
  readCall(call: ToolCall): void {
    const { callId, input, status, title } = call
    const ended = status === "completed" || status === "failed" ? this.#ended.get(callId) : undefined
    if (ended !== undefined) {
      this.#ended.delete(callId)
      return this.#end(ended.id, ended.ending)
    }
    if (status !== "completed") return
    if (this.#agent.reportsTimersInWords === true) this.#readTimer(call)
    const { followsGoals, plansJobs, startsInBackground } = this.#agent
    if (followsGoals === true) this.#readGoal(call)
    const subject = textOf(input["description"]) ?? title
    const kind = call.kind === "execute" ? "command" : "agent"
    this.#start(idInWords(startsInBackground, call), kind, subject, callId)
    this.#start(idInWords(plansJobs, call), "timer", subject, callId)
  }

  #readGoal(call: ToolCall): void {
    const { callId, input, tool } = call
    const words = readCallOutput(call) ?? ""
    if (tool === "CreateGoal" && words.includes('"status": "active"'))
      this.#start(GOAL, "goal", textOf(input["objective"]), callId)
    if (tool !== "UpdateGoal" || input["status"] === "active" || words.startsWith("Goal not ")) return
    this.#end(GOAL, input["status"] === "complete" ? "completed" : "failed")
  }

  #readTimer(call: ToolCall): void {
    const result = timerResult(call.tool, readCallOutput(call) ?? "")
    if (result !== undefined) this.#timers.readResult(call.tool, call.callId, call.input, result)
  }

  /** Reads `_meta` of a message: some agents report the end of a task there. Returns whether the message is that report. */
  readMeta(meta: unknown): boolean {
    if (!isJsonObject(meta)) return false
    const { backgroundTask, source }: UnverifiedFields<BackgroundMeta> = meta
    const { status, taskId }: UnverifiedFields<TaskReport> = objectOf(backgroundTask)
    this.#end(textOf(taskId), workEndingOf(status))
    return source === "background_task_completed" || source === "background_notification"
  }

  /** Reads a method around a turn of the agent. Returns false if it is another method. */
  readMethod(method: string): boolean {
    if (method === "_qwencode/start_turn") this.#turns.start()
    else if (method === "_qwencode/end_turn") this.#turns.end(false)
    else return false
    return true
  }

  #start(
    id: string | undefined,
    kind: WorkKind,
    title: string | undefined,
    parentCallId: string | undefined
  ): void {
    if (id === undefined) return
    if (parentCallId !== undefined) this.#calls.set(id, parentCallId)
    const line = titleLine(title ?? "")
    this.#collector.startWork({ id, kind, title: line === "" ? kind : line, ...defined({ parentCallId }) })
  }

  #end(id: string | undefined, ending: WorkEnding | undefined): void {
    if (id === undefined || ending === undefined) return
    this.#calls.delete(id)
    this.#collector.endWork(id, ending, this.#agent.continuesAfterWork === true)
  }
}

/** Sessions that are remembered. Beyond that, all are forgotten. */
const MAX_SESSIONS = 10_000

const sessionIn = ({ child_session_id, subagentSessionId }: UnverifiedFields<SubAgent>): string | undefined =>
  textOf(subagentSessionId) ?? textOf(child_session_id)

/** Sub-agents that have their own session: each is a call of the agent that started it, and work until it ends. */
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
