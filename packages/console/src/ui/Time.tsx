/** Relative time, with the exact time in its title. Updates while it is shown. */
import { formatRelativeTime } from "@corral/domain/text/RelativeTime"
import { useSyncExternalStore } from "react"
import { useLanguage } from "../text/Language.tsx"

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
