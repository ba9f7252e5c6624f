/**
 * Lists of steps as runtimes print them: the whole list each time, with names of states that differ a little.
 */
import type { Step } from "@corral/domain/run/Work"
import { arrayOf, objectOf, textOf } from "../text/Json.ts"

const states: ReadonlyMap<unknown, Step["state"]> = new Map([
  ["in_progress", "in_progress"],
  ["inProgress", "in_progress"],
  ["completed", "completed"],
  ["done", "completed"],
  ["cancelled", "cancelled"]
])

/** State of a step. One that is unknown is pending. */
export const stepStateOf = (status: unknown): Step["state"] => states.get(status) ?? "pending"

/**
 * Steps in the order of the list. The text of a step is in the first of the fields that it has; entries without one are skipped. A step's id is
 * its place.
 */
export const stepsOfList = (list: unknown, ...textFields: ReadonlyArray<string>): ReadonlyArray<Step> =>
  arrayOf(list).flatMap((value, at) => {
    const entry = objectOf(value)
    const text = textFields.map((field) => textOf(entry[field])).find((found) => found !== undefined)
    return text === undefined ? [] : [{ id: `${at + 1}`, text, state: stepStateOf(entry["status"]) }]
  })
