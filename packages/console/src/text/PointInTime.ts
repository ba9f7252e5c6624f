/** A point in time as a text: `14:02` today, with the date before on other days. */
import type { Language } from "./Language.tsx"

export const formatPointInTime = (time: Date, now: Date, language: Language): string =>
  time.toLocaleString(language === "zh" ? "zh-CN" : "en", {
    ...(time.toDateString() === now.toDateString() ? {} : { dateStyle: "medium" }),
    timeStyle: "short"
  })
