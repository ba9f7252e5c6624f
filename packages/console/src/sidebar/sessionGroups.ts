/**
 * Groups of sessions in the sidebar, and the rows that show them: pinned ones, then by the day of their last change, in the user's time zone.
 * Each row has its height. Pure.
 */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SessionItem } from "@corral/domain/session/Session"
import type { WorkStatus } from "../status/SessionStatus.tsx"
import type { Language } from "../text/Language.tsx"

interface SessionGroup {
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

export type SessionListRow =
  | { readonly kind: "heading"; readonly group: SessionGroup }
  | {
      readonly kind: "session"
      readonly group: SessionGroup
      readonly session: SessionItem
      /** Position in the group, from 1. */
      readonly position: number
      readonly status: WorkStatus
    }

export const sessionListRows = (
  groups: ReadonlyArray<SessionGroup>,
  statuses: ReadonlyMap<SessionId, WorkStatus>
): ReadonlyArray<SessionListRow> =>
  groups.flatMap((group): ReadonlyArray<SessionListRow> => [
    { kind: "heading", group },
    ...group.sessions.map((session, at) => ({
      kind: "session" as const,
      group,
      session,
      position: at + 1,
      status: statuses.get(session.id) ?? "idle"
    }))
  ])

/** Height in CSS pixels. All sessions have two lines. `touch`: rows for fingers. */
export const rowHeight = (row: SessionListRow, touch: boolean): number =>
  row.kind === "heading" ? 32 : touch ? 52 : 46

export const rowKey = (row: SessionListRow): string =>
  row.kind === "heading" ? `day ${row.group.key}` : row.session.id

interface PlacedRow {
  readonly row: SessionListRow
  /** Index in the whole list. */
  readonly index: number
  /** Distance from the top of the list in CSS pixels. */
  readonly start: number
}

/** Visible rows by group, so that each group is a list for screen readers. */
export const rowsByGroup = (
  rows: ReadonlyArray<PlacedRow>
): ReadonlyArray<{ readonly group: SessionGroup; readonly rows: ReadonlyArray<PlacedRow> }> => {
  const found = new Map<string, { group: SessionGroup; rows: Array<PlacedRow> }>()
  for (const placed of rows) {
    const { group } = placed.row
    const entry = found.get(group.key)
    if (entry === undefined) found.set(group.key, { group, rows: [placed] })
    else entry.rows.push(placed)
  }
  return [...found.values()]
}

/** The session before or after the open one, in the order of the list. Without an open one, the first or the last. */
export const neighbourOf = (
  rows: ReadonlyArray<SessionListRow>,
  open: string | undefined,
  step: 1 | -1
): SessionItem | undefined => {
  const sessions = rows.flatMap((row) => (row.kind === "session" ? [row.session] : []))
  const at = sessions.findIndex(({ id }) => id === open)
  return at === -1 ? sessions.at(step === 1 ? 0 : -1) : sessions[at + step]
}
