/** Groups of sessions in the sidebar: pinned ones, then by the day of their last change, in the user's time zone. Pure. */
import type { SessionItem } from "@corral/domain/session/Session"
import type { Language } from "../text/Language.tsx"

export interface SessionGroup {
  readonly key: string
  readonly label: string
  readonly sessions: ReadonlyArray<SessionItem>
}

export interface GroupLabels {
  readonly pinned: string
  readonly today: string
  readonly yesterday: string
}

interface Grouping {
  readonly pinned: ReadonlySet<string>
  /** Milliseconds since 1970. */
  readonly now: number
  readonly language: Language
  readonly labels: GroupLabels
}

const locales = { en: "en", zh: "zh-CN" } as const
const formatsOf = (language: Language) => ({
  weekday: new Intl.DateTimeFormat(locales[language], { weekday: "long" }),
  date: new Intl.DateTimeFormat(locales[language], { month: "short", day: "numeric" }),
  dateOfYear: new Intl.DateTimeFormat(locales[language], { year: "numeric", month: "short", day: "numeric" })
})
const formats = { en: formatsOf("en"), zh: formatsOf("zh") }

/** Milliseconds of a day. A day with a change of the clock is rounded. */
const DAY = 86_400_000

const startOfDay = (at: Date): Date => new Date(at.getFullYear(), at.getMonth(), at.getDate())

/** Whole days before today. The future is today. */
const daysAgo = (at: Date, now: Date): number =>
  Math.max(0, Math.round((startOfDay(now).getTime() - startOfDay(at).getTime()) / DAY))

const dayLabel = (at: Date, { labels, language, now }: Grouping): string => {
  const today = new Date(now)
  const days = daysAgo(at, today)
  if (days === 0) return labels.today
  if (days === 1) return labels.yesterday
  const { date, dateOfYear, weekday } = formats[language]
  if (days < 7) return weekday.format(at)
  return (at.getFullYear() === today.getFullYear() ? date : dateOfYear).format(at)
}

/** `sessions` are ordered by their last change, newest first. */
export const sessionGroups = (
  sessions: ReadonlyArray<SessionItem>,
  grouping: Grouping
): ReadonlyArray<SessionGroup> => {
  const { labels, now, pinned } = grouping
  const days = new Map<number, Array<SessionItem>>()
  for (const session of sessions) {
    if (pinned.has(session.id)) continue
    const day = daysAgo(new Date(session.updatedAt), new Date(now))
    const group = days.get(day)
    if (group === undefined) days.set(day, [session])
    else group.push(session)
  }
  const pins = sessions.filter(({ id }) => pinned.has(id))
  return [
    ...(pins.length === 0 ? [] : [{ key: "pinned", label: labels.pinned, sessions: pins }]),
    ...[...days].flatMap(([day, group]) => {
      const [first] = group
      return first === undefined
        ? []
        : [{ key: String(day), label: dayLabel(new Date(first.updatedAt), grouping), sessions: group }]
    })
  ]
}
