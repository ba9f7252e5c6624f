/** Clock of a time zone, and whether a time is in quiet hours. Pure, without schemas: browsers load it. */
import type { QuietHours } from "./QuietHours.ts"

/** The time of day, such as `07:30`. Throws for a name that is not a time zone. `at` is in Unix milliseconds. */
export const timeOfDayIn = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23"
  }).format(at)

/** Whether the time, in Unix milliseconds, is in the quiet hours. */
export const isQuiet = ({ from, timeZone, to }: QuietHours, at: number): boolean => {
  const now = timeOfDayIn(timeZone, at)
  return from < to ? from <= now && now < to : from <= now || now < to
}
