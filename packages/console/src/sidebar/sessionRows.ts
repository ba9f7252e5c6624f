/** Rows of the session list: a heading per group and its sessions, with the height of each. Pure. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { SessionItem } from "@corral/domain/session/Session"
import type { WorkStatus } from "../status/SessionStatus.ts"
import type { SessionGroup } from "./sessionGroups.ts"

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

export interface PlacedRow {
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
