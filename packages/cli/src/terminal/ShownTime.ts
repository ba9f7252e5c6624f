/** Times of resources as a person reads them: in the zone of this machine, or relative to now. Programs read the ISO strings of `--json`. */
import { formatRelativeTime } from "@corral/domain/text/RelativeTime"
import { escapeLine } from "./VisibleText.ts"

const twoDigits = (value: number): string => String(value).padStart(2, "0")

/** `2026-11-28 14:02` in the zone of this machine. A text that is not a time is shown as it is. */
export const localTime = (at: string): string => {
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) return escapeLine(at)
  const day = [time.getFullYear(), twoDigits(time.getMonth() + 1), twoDigits(time.getDate())].join("-")
  return `${day} ${twoDigits(time.getHours())}:${twoDigits(time.getMinutes())}`
}

/** `5 min. ago`. `now`: milliseconds since 1970. */
export const relativeTime = (at: string, now: number): string => {
  const time = Date.parse(at)
  return Number.isNaN(time) ? escapeLine(at) : formatRelativeTime(time, now, "en")
}

/** In a list: relative on a terminal of this width, local where the output is kept. */
export const listedTime = (at: string, width: number | undefined, now: number): string =>
  width === undefined ? localTime(at) : relativeTime(at, now)

/** `2026-11-28 14:02 (5 min. ago)`. */
export const datedTime = (at: string, now: number): string => `${localTime(at)} (${relativeTime(at, now)})`
