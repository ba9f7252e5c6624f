/**
 * Background tasks of Claude Code as work: sub-agents, commands and watchers.
 *
 * `background_tasks_changed` is the whole list of what runs in the background, and decides what is outstanding. A task of the foreground is
 * announced too, and is no work. The call that started a task comes in a later line than its place in the list.
 *
 * Guarantees: each task of the list starts before any other line is read, and ends when it leaves the list.
 */
import type { WorkKind } from "@corral/domain/run/Work"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { WorkEnding } from "../output/OutstandingWork.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"

const endings: Readonly<Record<string, WorkEnding>> = {
  completed: "completed",
  failed: "failed",
  killed: "stopped",
  stopped: "stopped"
}

const commands = new Set(["local_bash", "mcp_task"])
const kindOf = (type: string | undefined): WorkKind => (commands.has(type ?? "") ? "command" : "agent")

export class BackgroundTasks {
  readonly #collector: OutputCollector
  /** Tasks of the list whose call is not known yet. */
  readonly #listed = new Map<string, JsonObject>()
  /** Tasks of the list that have started as work. */
  readonly #outstanding = new Set<string>()
  /** The call that started a task, by the task's id. */
  readonly #calls = new Map<string, string>()
  readonly #endings = new Map<string, WorkEnding>()
  /** Tasks of which the program was notified. */
  readonly #notified = new Set<string>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** Whether work of the list is outstanding. */
  get isWorking(): boolean {
    return this.#outstanding.size + this.#listed.size > 0
  }

  /** The call that started a sub-agent. */
  callOf(taskId: string): string | undefined {
    return this.#calls.get(taskId)
  }

  /** Records the call of a sub-agent. */
  addCall(taskId: string | undefined, callId: string | undefined): void {
    if (taskId !== undefined && callId !== undefined) this.#calls.set(taskId, callId)
  }

  /** Reads a line about tasks. `startsTurn`: the program starts a turn for work that ends now. Returns false for any other line. */
  read(line: JsonObject, startsTurn: boolean): boolean {
    const id = textOf(line["task_id"]) ?? ""
    switch (line["subtype"]) {
      case "background_tasks_changed":
        this.#readList(arrayOf(line["tasks"]).filter(isJsonObject), startsTurn)
        return true
      case "task_started":
        this.addCall(id, textOf(line["tool_use_id"]))
        this.startListed()
        return true
      case "task_updated":
        this.#recordEnding(id, objectOf(line["patch"])["status"])
        return true
      case "task_notification":
        this.#recordEnding(id, line["status"])
        if (this.#outstanding.has(id)) this.#notified.add(id)
        return true
      case "task_progress":
        return true
      default:
        return false
    }
  }

  #recordEnding(id: string, status: unknown): void {
    const ending = endings[textOf(status) ?? ""]
    if (ending !== undefined && this.#outstanding.has(id)) this.#endings.set(id, ending)
  }

  /** Starts the tasks of the list that have not started. */
  startListed(): void {
    for (const [id, task] of this.#listed) {
      this.#outstanding.add(id)
      const title = titleLine(textOf(task["description"]) ?? id)
      this.#collector.startWork({
        id,
        kind: kindOf(textOf(task["task_type"])),
        title: title === "" ? id : title,
        ...defined({ parentCallId: this.#calls.get(id) })
      })
    }
    this.#listed.clear()
  }

  #readList(tasks: ReadonlyArray<JsonObject>, startsTurn: boolean): void {
    const ids = new Set<string>()
    for (const task of tasks) {
      const id = textOf(task["task_id"])
      // Such a task is no activity, and nothing waits for it.
      if (id === undefined || task["ambient"] === true) continue
      ids.add(id)
      if (!this.#outstanding.has(id)) this.#listed.set(id, task)
    }
    for (const id of this.#listed.keys()) if (!ids.has(id)) this.#listed.delete(id)
    for (const id of this.#outstanding) if (!ids.has(id)) this.#end(id, startsTurn)
    // The call of a task that moved to the background is known.
    if ([...this.#listed.keys()].every((id) => this.#calls.has(id))) this.startListed()
  }

  #end(id: string, startsTurn: boolean): void {
    this.#outstanding.delete(id)
    const ending = this.#endings.get(id) ?? "stopped"
    this.#endings.delete(id)
    this.#collector.endWork(id, ending, this.#notified.delete(id) && startsTurn)
  }
}
