/** Quiet hours of a user: a time of each day, in a time zone, in which no notification is sent. Pure. */
import { Schema } from "effect"
import { timeOfDayIn } from "./ClockOfZone.ts"

const timeOfDay = Schema.String.check(
  Schema.isPattern(/^(?:[01]\d|2[0-3]):[0-5]\d$/, { expected: "a time of day such as 22:00" })
)

const isTimeZone = (name: string): boolean => {
  try {
    return timeOfDayIn(name, 0) !== ""
  } catch {
    return false
  }
}

const timeZone = Schema.String.check(
  Schema.isMaxLength(64),
  Schema.makeFilter(isTimeZone, { expected: "a time zone such as Europe/Berlin" })
)

/** From `from` to before `to`, over midnight if `to` is the earlier one. */
export const QuietHours = Schema.Struct({ from: timeOfDay, to: timeOfDay, timeZone })
  .check(Schema.makeFilter(({ from, to }) => from !== to, { expected: "two different times" }))
  .annotate({ identifier: "QuietHours" })
export type QuietHours = typeof QuietHours.Type
