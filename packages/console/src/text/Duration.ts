/** Times for people: a duration, `8s`, `2m 10s`, `1h 05m`, or a point in time, `14:02` today and with the date on other days. */
import type { Language } from "./Language.tsx"

/** A point in time as a text: `14:02` today, with the date before on other days. */
export const formatPointInTime = (time: Date, now: Date, language: Language): string =>
  time.toLocaleString(language === "zh" ? "zh-CN" : "en", {
    ...(time.toDateString() === now.toDateString() ? {} : { dateStyle: "medium" }),
    timeStyle: "short"
  })

const units = { en: ["h", "m", "s"], zh: [" 小时", " 分", " 秒"] } as const

/** A limit of time: `10m`, `1h 30m`, `90s` as `1m 30s`. */
export const formatLimit = (ms: number, language: Language): string => {
  const seconds = Math.max(1, Math.round(ms / 1_000))
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.flatMap((part, i) => (part === 0 ? [] : [`${part}${units[language][i]}`])).join(" ")
}

export const formatDuration = (ms: number, language: Language): string => {
  const [hour, minute, second] = units[language]
  const seconds = Math.max(1, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds}${second}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}${minute} ${seconds % 60}${second}`
  return `${Math.floor(minutes / 60)}${hour} ${minutes % 60}${minute}`
}
