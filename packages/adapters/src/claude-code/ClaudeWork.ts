/**
 * Work of Claude Code in the background: sub-agents, commands and watchers, and the wake-ups and jobs that it has planned.
 *
 * `background_tasks_changed` is the whole list of tasks in the background, and decides what is outstanding. A task of the foreground is announced
 * too, and is no work. The call that started a task comes in a later line than its place in the list.
 *
 * The program starts a turn by itself when a timer is due, and reports it; the timer with the earliest time has ended then. A recurring job stays
 * until it is deleted, and jobs next to it stay too. A durable job is in a file and is not lost with the run, so it is no work.
 *
 * Guarantees: each task of the list starts before any other line is read, and ends when it leaves the list.
 * Does not: read a clock.
 */
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { WorkEnding } from "../output/OpenOutputs.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, countOf, defined, isJsonObject, type JsonObject, objectOf, textOf } from "../text/Json.ts"
import type { WorkKind } from "@corral/domain/run/Work"

const endings: Readonly<Record<string, WorkEnding>> = {
  completed: "completed",
  failed: "failed",
  killed: "stopped",
  stopped: "stopped"
}

const commands = new Set(["local_bash", "mcp_task"])
const kindOf = (type: string | undefined): WorkKind => (commands.has(type ?? "") ? "command" : "agent")

/** Background tasks of Claude Code as work: sub-agents, commands and watchers. */
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

interface Timer {
  readonly isWakeup: boolean
  /** When it is due, in milliseconds; `undefined` for a recurring job. */
  readonly dueAt: number | undefined
}

/** Wake-ups and jobs that Claude Code has planned, as work. */
export class ClaudeTimers {
  readonly #collector: OutputCollector
  readonly #timers = new Map<string, Timer>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** Whether a timer is outstanding. */
  get isWaiting(): boolean {
    return this.#timers.size > 0
  }

  /** Reads the result of a successful call. */
  readResult(tool: string, callId: string, input: JsonObject, structured: unknown): void {
    if (!isJsonObject(structured)) return
    switch (tool) {
      case "ScheduleWakeup":
        // A wake-up replaces the one before.
        this.#stopWakeups()
        if (structured["stopped"] !== true)
          this.#start(
            callId,
            textOf(input["reason"]) ?? "Wake up",
            true,
            countOf(structured["scheduledFor"]) ?? 0
          )
        return
      case "CronCreate": {
        const id = textOf(structured["id"])
        if (id === undefined || structured["durable"] === true) return
        const schedule = textOf(structured["humanSchedule"]) ?? textOf(input["cron"]) ?? "A planned job"
        const dueAt = structured["recurring"] === false ? (countOf(structured["nextFireAt"]) ?? 0) : undefined
        this.#start(id, `${schedule}: ${textOf(input["prompt"]) ?? ""}`, false, dueAt)
        return
      }
      case "CronDelete":
        this.#end(textOf(structured["id"]) ?? "", "stopped")
    }
  }

  /**
   * The program has started a turn because a timer was due: the wake-up, or a job. It does not say which job: the one with the earliest time, unless
   * it may have been a recurring one. `hasStarted`: the turn was announced before.
   */
  fire(source: "wakeup" | "job", hasStarted = false): void {
    const timers = [...this.#timers].filter(([, { isWakeup }]) => isWakeup === (source === "wakeup"))
    if (timers.some(([, { dueAt }]) => dueAt === undefined)) return
    const [due] = timers.toSorted(([, a], [, b]) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
    if (due !== undefined) this.#end(due[0], "completed", !hasStarted)
  }

  #start(id: string, title: string, isWakeup: boolean, dueAt: number | undefined): void {
    this.#timers.set(id, { isWakeup, dueAt })
    this.#collector.startWork({ id: `timer ${id}`, kind: "timer", title: titleLine(title) })
  }

  #stopWakeups(): void {
    for (const [id, { isWakeup }] of this.#timers) if (isWakeup) this.#end(id, "stopped")
  }

  #end(id: string, state: "completed" | "stopped", continues = false): void {
    if (this.#timers.delete(id)) this.#collector.endWork(`timer ${id}`, state, continues)
  }
}
