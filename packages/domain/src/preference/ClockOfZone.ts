/** Clock of a time zone, and whether a time is in quiet hours. Without schemas: browsers load it. */
import type { QuietHours } from "./Preferences.ts"

/** The time of day, such as `07:30`. Throws for a name that is not a time zone. `undefined`: the time zone of the reader. `at` is in Unix milliseconds. */
export const timeOfDayIn = (timeZone: string | undefined, at: number): string =>
  new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23"
  }).format(at)

/** The Hub can have time zones that a browser does not have. There the clock of the browser is the best one. */
const timeOfDayNear = (timeZone: string, at: number): string => {
  try {
    return timeOfDayIn(timeZone, at)
  } catch {
    return timeOfDayIn(undefined, at)
  }
}

/** Whether the time, in Unix milliseconds, is in the quiet hours. */
export const isQuiet = ({ from, timeZone, to }: QuietHours, at: number): boolean => {
  const now = timeOfDayNear(timeZone, at)
  return from < to ? from <= now && now < to : from <= now || now < to
}
