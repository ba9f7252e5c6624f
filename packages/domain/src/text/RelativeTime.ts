/** Time relative to now, as a person says it, in the languages of the console. */

export type TimeLanguage = "en" | "zh"

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
export const formatRelativeTime = (at: number, now: number, language: TimeLanguage): string => {
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
