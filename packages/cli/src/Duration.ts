/** Durations on the command line: `90s`, `10m`, `2h`, or seconds. */
import { Schema } from "effect"

const units = { s: 1_000, m: 60_000, h: 3_600_000 } as const
const FORM = /^(\d{1,5})([smh]?)$/u
const LONGEST_MS = 86_400_000

/** Milliseconds; `undefined` for another form, and beyond 1 s to 24 h. */
export const durationMs = (text: string): number | undefined => {
  const [, count, unit] = FORM.exec(text) ?? []
  if (count === undefined) return undefined
  const ms = Number(count) * units[unit === "m" || unit === "h" ? unit : "s"]
  return ms >= 1_000 && ms <= LONGEST_MS ? ms : undefined
}

export const DurationText = Schema.String.check(
  Schema.makeFilter((text: string) => durationMs(text) !== undefined, {
    expected: "a duration like 90s, 10m or 2h, from 1s to 24h"
  })
)
