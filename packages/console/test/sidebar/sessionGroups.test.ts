import { assert, describe, it } from "@effect/vitest"
import type { SessionItem } from "@corral/domain/session/Session"
import { neighbourOf, rowsByGroup, sessionGroups, sessionListRows } from "../../src/sidebar/sessionGroups.ts"
import { sidebarMessages } from "../../src/sidebar/messages.ts"

/** Local time, as the user reads it. */
const local = (month: number, day: number, hour = 12, year = 2026): Date =>
  new Date(year, month - 1, day, hour)
const session = (id: string, at: Date): SessionItem =>
  // Only id and time are grouped.
  ({ id, title: id, updatedAt: at.toISOString() }) as unknown as SessionItem
const now = local(6, 10).getTime()

const groupsOf = (
  sessions: ReadonlyArray<SessionItem>,
  pinned: ReadonlyArray<string> = [],
  language: "en" | "zh" = "en"
) =>
  sessionGroups(sessions, { pinned: new Set(pinned), now, language, labels: sidebarMessages[language].days })

const summary = (groups: ReturnType<typeof groupsOf>) =>
  groups.map(({ label, sessions }) => [label, ...sessions.map(({ id }): string => id)])

describe("sessionGroups", () => {
  const sessions = [
    session("late", local(6, 10, 23)),
    session("early", local(6, 10, 0)),
    session("yesterday", local(6, 9, 23)),
    session("monday", local(6, 8)),
    session("six days", local(6, 4)),
    session("week", local(6, 3)),
    session("last year", local(6, 10, 12, 2025))
  ]

  it("names today, yesterday, weekdays and dates in the time zone of the user", () => {
    assert.deepStrictEqual(summary(groupsOf(sessions)), [
      ["Today", "late", "early"],
      ["Yesterday", "yesterday"],
      ["Monday", "monday"],
      ["Thursday", "six days"],
      ["Jun 3", "week"],
      ["Jun 10, 2025", "last year"]
    ])
  })

  it("uses the language of the user", () => {
    assert.deepStrictEqual(
      groupsOf(sessions, [], "zh").map(({ label }) => label),
      ["今天", "昨天", "星期一", "星期四", "6月3日", "2025年6月10日"]
    )
  })

  it("lists pinned sessions first and once", () => {
    const groups = summary(groupsOf(sessions, ["week", "early"]))
    assert.deepStrictEqual(groups[0], ["Pinned", "early", "week"])
    assert.deepStrictEqual(groups[1], ["Today", "late"])
    assert.strictEqual(groups.flat().filter((id) => id === "week").length, 1)
  })

  it("shows a session from a clock that is ahead as today's", () => {
    assert.deepStrictEqual(summary(groupsOf([session("ahead", local(6, 11))])), [["Today", "ahead"]])
  })
})

describe("sessionListRows", () => {
  const rows = sessionListRows(
    groupsOf([session("a", local(6, 10)), session("b", local(6, 10)), session("c", local(6, 9))]),
    new Map()
  )

  it("has a heading for each group, and positions within it", () => {
    assert.deepStrictEqual(
      rows.map((row) => (row.kind === "heading" ? row.group.label : `${row.session.id} ${row.position}`)),
      ["Today", "a 1", "b 2", "Yesterday", "c 1"]
    )
  })

  it("has a neighbour across groups, and none beyond the ends", () => {
    const next = (open: string | undefined, step: 1 | -1) => neighbourOf(rows, open, step)?.id
    assert.deepStrictEqual(
      [next("a", 1), next("b", 1), next("c", 1), next("a", -1), next(undefined, 1), next(undefined, -1)],
      ["b", "c", undefined, undefined, "a", "c"].map((id) => id as ReturnType<typeof next>)
    )
  })

  it("keeps groups apart when only a part is visible", () => {
    const placed = rows.slice(2).map((row, at) => ({ row, start: at, index: at + 2 }))
    assert.deepStrictEqual(
      rowsByGroup(placed).map(({ group, rows: shown }) => [group.label, shown.length]),
      [
        ["Today", 1],
        ["Yesterday", 2]
      ]
    )
  })
})
