/** Time zones by their IANA names, such as `Europe/Berlin`, as far as this runtime has them. */
import { Schema } from "effect"
import { timeOfDayIn } from "./ClockOfZone.ts"

const isTimeZone = (name: string): boolean => {
  try {
    return timeOfDayIn(name, 0) !== ""
  } catch {
    return false
  }
}

export const TimeZone = Schema.String.check(
  Schema.isMaxLength(64),
  Schema.makeFilter(isTimeZone, { expected: "a time zone such as Europe/Berlin" })
)
