/**
 * Whether cached data contain what a hint of the change feed says. Pure.
 *
 * A connection of the feed begins with the present state. The lists of a page that has just opened contain it already, and need no second read.
 * A list without a resource is taken as older than the hint, but for a device: a list of a project has only those that are shared with it.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"

/** A device, approval, question or run in cached data. */
interface Row {
  readonly id?: unknown
  readonly state?: unknown
  readonly lastSeenAt?: unknown
  readonly pendingApprovals?: ReadonlyArray<unknown>
  readonly pendingInputs?: ReadonlyArray<unknown>
}

/** Rows of a list, a page, several pages, or one resource. */
const rowsOf = (data: unknown): ReadonlyArray<Row> => {
  if (Array.isArray(data)) return data
  if (typeof data !== "object" || data === null) return []
  if ("pages" in data && Array.isArray(data.pages)) return data.pages.flatMap(rowsOf)
  return "items" in data && Array.isArray(data.items) ? data.items : [data]
}

/** Whether a row is the resource in the same state, or its run that waits for it. */
const isSameState = (row: Row, hint: ChangeHint): boolean => {
  switch (hint.kind) {
    case "device":
      // With the same heartbeat, the device has reported nothing since.
      return row.id === hint.id && row.state === hint.state && row.lastSeenAt === hint.lastSeenAt
    case "approval":
    case "input": {
      if (hint.state !== "pending") return false
      const waiting = hint.kind === "approval" ? row.pendingApprovals : row.pendingInputs
      return row.id === hint.id ? row.state === hint.state : waiting?.includes(hint.id) === true
    }
    default:
      return false
  }
}

const isSaidBy = (hint: ChangeHint, data: unknown): boolean =>
  rowsOf(data).some((row) => isSameState(row, hint))

/** `others`: cached data of the same group. */
export const isReflected = (hint: ChangeHint, data: unknown, others: ReadonlyArray<unknown> = []): boolean =>
  isSaidBy(hint, data) ||
  (hint.kind === "device" &&
    data !== undefined &&
    !rowsOf(data).some(({ id }) => id === hint.id) &&
    others.some((other) => isSaidBy(hint, other)))
