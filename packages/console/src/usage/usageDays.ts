/** Days of a usage report: which ones a choice of the last days means, and the sums of each of them. Pure. */
import { dayIn } from "@corral/domain/usage/DayOfZone"
import type { UsageRow, UsageSums } from "@corral/domain/usage/UsageReport"

/** The day in the project's time zone; in UTC for a project of an earlier Hub and for a time zone that this browser does not have. */
export const dayNear = (timeZone: string | undefined, at: number): string => {
  try {
    return dayIn(timeZone ?? "UTC", at)
  } catch {
    return dayIn("UTC", at)
  }
}

const DAY_MS = 86_400_000

const atNoon = (day: string): number => Date.parse(`${day}T12:00:00Z`)

/** The date that many days before. */
export const dayBefore = (day: string, days: number): string =>
  new Date(atNoon(day) - days * DAY_MS).toISOString().slice(0, 10)

/** All dates from the first to the last, both included. */
export const daysFrom = (first: string, last: string): ReadonlyArray<string> =>
  Array.from({ length: Math.max(0, Math.round((atNoon(last) - atNoon(first)) / DAY_MS) + 1) }, (_, at) =>
    dayBefore(first, -at)
  )

const noUse: UsageSums = {
  runs: 0,
  liveRuns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  turns: 0,
  costUsd: 0,
  estimatedUsd: 0,
  runsWithoutCost: 0
}

/** Use of a day. */
export interface DayUse extends UsageSums {
  readonly day: string
}

/** One row for each day, in their order. A day without runs has zeros. */
export const usePerDay = (
  rows: ReadonlyArray<UsageRow>,
  first: string,
  last: string
): ReadonlyArray<DayUse> => {
  const rowByDay = new Map(rows.map((row) => [row.day, row]))
  return daysFrom(first, last).map((day) => ({ ...noUse, ...rowByDay.get(day), day }))
}

export const tokensOf = ({ inputTokens, outputTokens }: UsageSums): number => inputTokens + outputTokens
