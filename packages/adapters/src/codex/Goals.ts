/** Goals that Codex follows by itself: it starts turns until the goal is reached, blocked, or stopped by a limit. */
import type { WorkOutput } from "../output/OutstandingWork.ts"
import { titleLine } from "../text/FirstLine.ts"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"

const goalIdOf = (params: JsonObject): string => `goal:${textOf(params["threadId"]) ?? ""}`

const states: Readonly<Record<string, WorkOutput["state"]>> = {
  active: "running",
  complete: "completed",
  blocked: "failed",
  usageLimited: "failed",
  budgetLimited: "failed",
  paused: "stopped"
}

/** Work of `thread/goal/updated`. A status of a later version is an end: it would wait forever otherwise. */
export const workOfGoal = (params: JsonObject): Omit<WorkOutput, "_tag"> => {
  const { objective, status } = objectOf(params["goal"])
  return {
    id: goalIdOf(params),
    kind: "goal",
    title: titleLine(textOf(objective) ?? "Goal"),
    state: states[textOf(status) ?? ""] ?? "stopped"
  }
}

/** Work of `thread/goal/cleared`. */
export const workOfClearedGoal = (params: JsonObject): Omit<WorkOutput, "_tag"> => ({
  id: goalIdOf(params),
  kind: "goal",
  title: "Goal",
  state: "stopped"
})
