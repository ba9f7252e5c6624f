/** Durations for people: `8s`, `2m 10s`, `1h 05m`. */
import type { Language } from "./Language.tsx"

const units = { en: ["h", "m", "s"], zh: [" 小时", " 分", " 秒"] } as const

export const formatDuration = (ms: number, language: Language): string => {
  const [hour, minute, second] = units[language]
  const seconds = Math.max(1, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds}${second}`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}${minute} ${seconds % 60}${second}`
  return `${Math.floor(minutes / 60)}${hour} ${minutes % 60}${minute}`
}
