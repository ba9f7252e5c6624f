/**
 * Days of a project: dates in its time zone, where a day has 23 to 25 hours. Pure.
 *
 * *Guarantees:* each moment is in exactly one day, and days follow each other without a gap.
 */
import { Schema } from "effect"

export { dayIn, endOfDayIn } from "./DayOfZone.ts"

const isDate = (text: string): boolean => {
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** A date such as `2026-03-29`. */
export const Day = Schema.String.check(
  Schema.isPattern(/^\d{4}-\d\d-\d\d$/, { expected: "a date such as 2026-03-29" }),
  Schema.makeFilter(isDate, { expected: "a date such as 2026-03-29" })
)
export type Day = typeof Day.Type
