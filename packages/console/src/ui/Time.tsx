/** Relative time, with the exact time in its title. Updates while it is shown. */
import { useSyncExternalStore } from "react"
import { type Language, useLanguage } from "../text/Language.tsx"

const steps = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Number.POSITIVE_INFINITY]
] as const

const formats = {
  en: new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" }),
  zh: new Intl.RelativeTimeFormat("zh-CN", { numeric: "auto", style: "short" })
}

/** Seconds that pass are not worth a new text every few seconds. */
const justNow = { en: "just now", zh: "刚刚" }

/** `5 分钟前`: Chinese and numbers have a space between them, as in all texts of the console. */
const spaced = (parts: ReadonlyArray<Intl.RelativeTimeFormatPart>): string =>
  parts.map(({ type, value }) => (type === "integer" ? `${value} ` : value.trimStart())).join("")

/** Formats `at` relative to `now`, both in milliseconds since 1970. */
export const formatRelativeTime = (at: number, now: number, language: Language): string => {
  let amount = Math.round((at - now) / 1_000)
  if (amount <= 0 && amount > -60) return justNow[language]
  for (const [unit, size] of steps) {
    if (Math.abs(amount) < size)
      return language === "zh"
        ? spaced(formats.zh.formatToParts(amount, unit))
        : formats.en.format(amount, unit)
    amount = Math.trunc(amount / size)
  }
  return ""
}

/** One clock for all times on the page. Runs while any time is shown. */
const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

const tick = (): void => {
  now = Date.now()
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  if (listeners.size === 0) {
    now = Date.now()
    timer = setInterval(tick, 5_000)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/** Milliseconds since 1970, a few seconds exact. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now)

/** Time on the current day, in milliseconds since 1970. Changes with the day. */
export const useToday = (): number =>
  useSyncExternalStore(subscribe, () => new Date(now).setHours(12, 0, 0, 0))

/** `at` is ISO 8601. */
export const Time = ({ at }: { readonly at: string }) => {
  const { language } = useLanguage()
  const current = useNow()
  const time = Date.parse(at)
  // A small clock difference is not shown as the future.
  const seen = time > current && time - current < 10_000 ? current : time
  const exact = new Date(time).toLocaleString(language === "zh" ? "zh-CN" : "en", {
    dateStyle: "medium",
    timeStyle: "medium"
  })
  return (
    <time dateTime={at} title={exact}>
      {formatRelativeTime(seen, current, language)}
    </time>
  )
}
