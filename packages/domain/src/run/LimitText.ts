/** Limits of a turn as people type them: `tokens=5000 turns=10 time=10m timeout=30m`, and durations: `90s`, `10m`, `2h`, or seconds. Pure. */
import type { Budget, RunLimits } from "./Budget.ts"

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

/** Limits that are set. */
export interface SetLimits {
  readonly budget?: Budget
  readonly timeoutMs?: number
}

export const limitsFrom = (
  tokens: number | undefined,
  turns: number | undefined,
  wallMs: number | undefined,
  timeoutMs: number | undefined
): SetLimits => {
  const budget = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(turns === undefined ? {} : { turns }),
    ...(wallMs === undefined ? {} : { wallMs })
  }
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

const COUNT = /^[1-9]\d{0,14}$/

/** Reads `tokens=5000 turns=10 time=10m timeout=30m`, any of them, or `off`. */
export const parseLimits = (text: string): SetLimits | { readonly problem: string } => {
  if (text === "off") return {}
  const values = new Map<string, number>()
  for (const word of text.split(/\s+/)) {
    const [name = "", value = "", ...rest] = word.split("=")
    const isTime = name === "time" || name === "timeout"
    if (!isTime && name !== "tokens" && name !== "turns")
      return { problem: "Limits are tokens=5000, turns=10, time=10m and timeout=30m, or off." }
    const number = isTime ? durationMs(value) : COUNT.test(value) ? Number(value) : undefined
    if (values.has(name)) return { problem: `${name} is given twice.` }
    if (number === undefined || rest.length > 0)
      return {
        problem: isTime
          ? `${name} is a duration like 90s, 10m or 2h, from 1s to 24h.`
          : `${name} is a whole number from 1.`
      }
    values.set(name, number)
  }
  return limitsFrom(values.get("tokens"), values.get("turns"), values.get("time"), values.get("timeout"))
}

const written = (ms: number): string => {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`
}

/** The limits in the form that `parseLimits` reads; `off` without limits. Parts of a second are rounded up. */
export const typedLimits = ({ budget = {}, timeoutMs }: RunLimits): string => {
  const { tokens, turns, wallMs } = budget
  const parts = [
    ...(tokens === undefined ? [] : [`tokens=${tokens}`]),
    ...(turns === undefined ? [] : [`turns=${turns}`]),
    ...(wallMs === undefined ? [] : [`time=${written(wallMs)}`]),
    ...(timeoutMs === undefined ? [] : [`timeout=${written(timeoutMs)}`])
  ]
  return parts.length === 0 ? "off" : parts.join(" ")
}
