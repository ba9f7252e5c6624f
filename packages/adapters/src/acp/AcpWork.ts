/**
 * Background work of an agent, and the turns that it starts by itself, as far as its own extensions of the protocol report them.
 *
 * Three forms: tasks as `session/update`, methods around a turn, and the words of a call's result.
 * Does not: guess an end. Work whose end an agent does not report is outstanding until the run ends.
 */
import type { WorkEnding } from "../output/OutstandingWork.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { titleLine } from "../text/FirstLine.ts"
import { defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { AsyncTask, BackgroundMeta, TaskReport } from "./AcpExtensions.ts"
import { readCallOutput, type ToolCall } from "./ToolCall.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"
import { workEndingOf } from "./WorkEnding.ts"

/** What starts and ends a turn that no prompt of ours has started. */
export interface OwnTurns {
  readonly start: () => void
  readonly end: (isFailed: boolean) => void
}

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

  constructor(collector: OutputCollector, agent: AcpAgent, turns: OwnTurns) {
    this.#collector = collector
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
      default:
        return kind === "async_task_progress"
    }
  }

  #startTask({ asyncTaskId, description, name, taskType, toolCallId }: UnverifiedFields<AsyncTask>): void {
    const id = textOf(asyncTaskId)
    if (id === undefined) return
    if (taskType === "turn") {
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
    const pattern = this.#agent.startsInBackground
    if (pattern === undefined || status !== "completed") return
    const id = pattern
      .exec(readCallOutput(call) ?? "")
      ?.slice(1)
      .find((group) => group !== undefined)
    const kind = call.kind === "execute" ? "command" : "agent"
    this.#start(id, kind, textOf(input["description"]) ?? title, callId)
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
    kind: "agent" | "command",
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
