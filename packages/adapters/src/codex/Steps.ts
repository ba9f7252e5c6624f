/** The agent's list of steps: its plan at the app-server, its to-do list in `exec`. */
import type { Step } from "@corral/domain/run/Steps"
import { arrayOf, objectOf, textOf } from "../text/Json.ts"

const stateOf = (entry: { readonly [name: string]: unknown }): Step["state"] => {
  if (entry["status"] === "completed" || entry["completed"] === true) return "completed"
  return entry["status"] === "inProgress" ? "in_progress" : "pending"
}

/** The steps of a list. Entries without a text are skipped. */
export const codexSteps = (list: unknown): ReadonlyArray<Step> =>
  arrayOf(list).flatMap((value, at) => {
    const entry = objectOf(value)
    const text = textOf(entry["step"]) ?? textOf(entry["text"])
    return text === undefined ? [] : [{ id: `${at + 1}`, text, state: stateOf(entry) }]
  })
