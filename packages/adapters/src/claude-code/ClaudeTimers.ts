/**
 * Wake-ups and jobs that Claude Code has planned, as work. It starts a turn by itself when one is due.
 *
 * Does not: read a clock. The program reports that a timer was due; the one with the earliest time has ended then. A recurring job stays until it
 * is deleted, and jobs next to it stay too. A durable job is in a file and is not lost with the run, so it is no work.
 */
import type { OutputCollector } from "../output/OutputCollector.ts"
import { titleLine } from "../text/FirstLine.ts"
import { countOf, isJsonObject, textOf, type JsonObject } from "../text/Json.ts"

interface Timer {
  readonly isWakeup: boolean
  /** When it is due, in milliseconds; `undefined` for a recurring job. */
  readonly dueAt: number | undefined
}

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
