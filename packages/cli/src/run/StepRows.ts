/** An agent's list of steps: one row each, with its state. */
import type { Step } from "@corral/domain/run/Work"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { Row } from "../terminal/WrapText.ts"

const marks = { pending: "○", in_progress: "◐", completed: "✓", cancelled: "–" } as const
const tints = { pending: undefined, in_progress: "cyan", completed: "green", cancelled: "dim" } as const

const countText = (steps: ReadonlyArray<Step>): string => {
  const done = steps.filter(({ state }) => state === "completed").length
  return `steps: ${done} of ${steps.length}`
}

/** Rows of the whole list. */
export const stepRows = (steps: ReadonlyArray<Step>): ReadonlyArray<Row> => [
  [{ text: `  ${countText(steps)}`, style: "dim" }],
  ...steps.map(({ state, text }): Row => [
    { text: `  ${marks[state]} `, style: tints[state] },
    { text: escapeLine(text), style: state === "completed" || state === "cancelled" ? "dim" : undefined }
  ])
]

/** Rows of what changed since the list before: the count and the changed steps; the whole list if it is another one. */
export const changedStepRows = (
  before: ReadonlyArray<Step>,
  steps: ReadonlyArray<Step>
): ReadonlyArray<Row> => {
  const earlier = new Map(before.map(({ id, state, text }) => [id, `${state} ${text}`]))
  const isSame =
    before.length > 0 && steps.every(({ id }) => earlier.has(id)) && steps.length === before.length
  if (!isSame) return stepRows(steps)
  const changed = steps.filter(({ id, state, text }) => earlier.get(id) !== `${state} ${text}`)
  return changed.length === 0
    ? []
    : [[{ text: `  ${countText(steps)}`, style: "dim" }], ...stepRows(changed).slice(1)]
}
