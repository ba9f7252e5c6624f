/**
 * Timers of Claude Code behind the Agent Client Protocol, which has only the words of their results, and of the turns that they start.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import type { JsonObject } from "../text/Json.ts"

const created = capped(1_000, /^Scheduled (recurring job|one-shot task) (\S+) \(([^)]*)\)\. (Persisted)?/)
const deleted = capped(1_000, /^Cancelled job (\S+)\.$/m)

/** The result of a successful call, with the fields that Claude Code itself adds to the words; `undefined` for other tools. */
export const timerResult = (tool: string, words: string): JsonObject | undefined => {
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
export const timerOfTurn = (description: unknown): "wakeup" | "job" | undefined => {
  if (typeof description !== "string") return undefined
  if (description.startsWith("A scheduled wakeup fired")) return "wakeup"
  return description.startsWith("A scheduled task fired") ? "job" : undefined
}
