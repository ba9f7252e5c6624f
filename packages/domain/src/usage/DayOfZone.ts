/** Days of a time zone: the date of a moment, and when it ends. Without schemas: browsers load it. Pure. */

const formats = new Map<string, Intl.DateTimeFormat>()

/** Making a format takes much longer than using it. */
const formatOf = (timeZone: string): Intl.DateTimeFormat => {
  const existing = formats.get(timeZone)
  if (existing !== undefined) return existing
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "iso8601",
    numberingSystem: "latn",
    year: "numeric",
    month: "2-digit",
    day: "2-digit"
  })
  formats.set(timeZone, format)
  return format
}

/** The day of a moment, in Unix milliseconds. Throws for a name that is not a time zone. */
export const dayIn = (timeZone: string, at: number): string => {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value])
  )
  return `${(parts.get("year") ?? "").padStart(4, "0")}-${parts.get("month")}-${parts.get("day")}`
}

const MINUTE = 60_000
/** More than the longest day, and the shortest time in which two days begin. */
const SEARCHED = 26 * 60 * MINUTE

/** The first moment after the day of `at`, in Unix milliseconds: a whole minute. */
export const endOfDayIn = (timeZone: string, at: number): number => {
  const day = dayIn(timeZone, at)
  let [low, high] = [Math.floor(at / MINUTE), Math.ceil((at + SEARCHED) / MINUTE)]
  // The day changes once between the two.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (dayIn(timeZone, middle * MINUTE) === day) low = middle
    else high = middle
  }
  return high * MINUTE
}
