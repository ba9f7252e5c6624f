/**
 * Limits of a turn as people type them: `tokens=5000 turns=10 cost=2.50 time=10m timeout=30m`, with durations such as `90s`, `10m`, `2h`, or
 * seconds, and costs in US dollars. Pure.
 */
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

const COST = /^\$?(\d{1,7}(?:\.\d{1,6})?)$/u
const MOST_USD = 1_000_000

/** US dollars; `undefined` for another form, for 0, and beyond a million. */
export const costUsdIn = (text: string): number | undefined => {
  const cost = Number(COST.exec(text)?.[1] ?? 0)
  return cost > 0 && cost <= MOST_USD ? cost : undefined
}

/** Limits that are set. */
export interface SetLimits {
  readonly budget?: Budget
  readonly timeoutMs?: number
}

/** Values of limits. Those that are undefined are not set. */
export interface LimitValues {
  readonly tokens: number | undefined
  readonly turns: number | undefined
  readonly costUsd: number | undefined
  readonly wallMs: number | undefined
  readonly timeoutMs: number | undefined
}

export const limitsFrom = ({ costUsd, timeoutMs, tokens, turns, wallMs }: LimitValues): SetLimits => {
  const budget = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(turns === undefined ? {} : { turns }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(wallMs === undefined ? {} : { wallMs })
  }
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
}

const COUNT = /^[1-9]\d{0,14}$/
const countIn = (text: string): number | undefined => (COUNT.test(text) ? Number(text) : undefined)

const DURATION = "a duration like 90s, 10m or 2h, from 1s to 24h."
const NUMBER = "a whole number from 1."

/** How the value of each limit is read, and what it is. */
const readers = new Map<string, readonly [read: (text: string) => number | undefined, expected: string]>([
  ["tokens", [countIn, NUMBER]],
  ["turns", [countIn, NUMBER]],
  ["cost", [costUsdIn, "an amount in US dollars like 2.50, up to 1000000."]],
  ["time", [durationMs, DURATION]],
  ["timeout", [durationMs, DURATION]]
])

/** Reads `tokens=5000 turns=10 cost=2.50 time=10m timeout=30m`, any of them, or `off`. */
export const parseLimits = (text: string): SetLimits | { readonly problem: string } => {
  if (text === "off") return {}
  const values = new Map<string, number>()
  for (const word of text.split(/\s+/)) {
    const [name = "", value = "", ...rest] = word.split("=")
    const reader = readers.get(name)
    if (reader === undefined)
      return { problem: "Limits are tokens=5000, turns=10, cost=2.50, time=10m and timeout=30m, or off." }
    const [read, expected] = reader
    const number = read(value)
    if (values.has(name)) return { problem: `${name} is given twice.` }
    if (number === undefined || rest.length > 0) return { problem: `${name} is ${expected}` }
    values.set(name, number)
  }
  return limitsFrom({
    tokens: values.get("tokens"),
    turns: values.get("turns"),
    costUsd: values.get("cost"),
    wallMs: values.get("time"),
    timeoutMs: values.get("timeout")
  })
}

const written = (ms: number): string => {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`
}

/** A cost in the form that `costUsdIn` reads: without an exponent, and with at most six decimals. */
const writtenCost = (costUsd: number): string => String(Number(costUsd.toFixed(6)))

/** The limits in the form that `parseLimits` reads; `off` without limits. Parts of a second are rounded up. */
export const typedLimits = ({ budget = {}, timeoutMs }: RunLimits): string => {
  const { costUsd, tokens, turns, wallMs } = budget
  const parts = [
    ...(tokens === undefined ? [] : [`tokens=${tokens}`]),
    ...(turns === undefined ? [] : [`turns=${turns}`]),
    ...(costUsd === undefined ? [] : [`cost=${writtenCost(costUsd)}`]),
    ...(wallMs === undefined ? [] : [`time=${written(wallMs)}`]),
    ...(timeoutMs === undefined ? [] : [`timeout=${written(timeoutMs)}`])
  ]
  return parts.length === 0 ? "off" : parts.join(" ")
}
