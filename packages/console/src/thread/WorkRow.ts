/** Rows of the thread: parts of the work, in which neighbouring reads and searches are one row. Pure. */
import { isExploring, kindOf } from "./ActionKind.ts"
import type { ActionPart, WorkPart } from "./WorkPart.ts"

export interface ExploredRow {
  readonly kind: "explored"
  /** `seq` of the first action: the key of the row. */
  readonly seq: number
  readonly actions: ReadonlyArray<ActionPart>
}

export type WorkRow = WorkPart | ExploredRow

/** The fewest neighbours that fold. */
const FEWEST = 2

export const rowsOfWork = (parts: ReadonlyArray<WorkPart>): ReadonlyArray<WorkRow> => {
  const rows: Array<WorkRow> = []
  for (let at = 0; at < parts.length;) {
    const actions = neighbours(parts, at)
    const [first] = actions
    if (first === undefined || actions.length < FEWEST) {
      const part = parts[at]
      if (part !== undefined) rows.push(part)
      at++
    } else {
      rows.push({ kind: "explored", seq: first.seq, actions })
      at += actions.length
    }
  }
  return rows
}

const neighbours = (parts: ReadonlyArray<WorkPart>, from: number): ReadonlyArray<ActionPart> => {
  const found: Array<ActionPart> = []
  for (let at = from; at < parts.length; at++) {
    const part = parts[at]
    if (part?.kind !== "action" || !isExploring(part)) break
    found.push(part)
  }
  return found
}

export interface WorkCounts {
  readonly reads: number
  readonly searches: number
  readonly edits: number
  readonly commands: number
  readonly others: number
}

/** Number of actions by kind, for the line of a folded turn. */
export const countsOf = (parts: ReadonlyArray<WorkPart>): WorkCounts => {
  const counts = { reads: 0, searches: 0, edits: 0, commands: 0, others: 0 }
  const fields = {
    read: "reads",
    search: "searches",
    write: "edits",
    command: "commands",
    web: "others",
    delegate: "others",
    other: "others"
  } as const
  for (const part of parts) if (part.kind === "action") counts[fields[kindOf(part)]]++
  return counts
}
