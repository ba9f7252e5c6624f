/** Rows of diff hunks, unified or side by side. Pure, and linear in the number of lines. */
import type { DiffHunk } from "@corral/domain/edge-api/Diff"

export type Layout = "unified" | "split"

export interface DiffSide {
  readonly number: number
  readonly text: string
  readonly mark: " " | "+" | "-"
  /** Text that this line replaces, or that replaces it. */
  readonly other?: string
}

export type DiffEntry =
  /** Lines of the new file, or of the old one if nothing is left of them. `at`: index of the hunk. */
  | { readonly kind: "hunk"; readonly from: number; readonly to: number; readonly at: number }
  | {
      readonly kind: "line"
      readonly old: number | undefined
      readonly new: number | undefined
      readonly side: DiffSide
    }
  | { readonly kind: "pair"; readonly old: DiffSide | undefined; readonly new: DiffSide | undefined }
  /** For example, a missing newline at the end of the file. */
  | { readonly kind: "note"; readonly text: string }

/** Part of a hunk: an unchanged line, a note, or removed lines with the added lines after them. */
type HunkPart =
  | { readonly kind: "same"; readonly old: DiffSide; readonly new: DiffSide }
  | { readonly kind: "note"; readonly text: string }
  | {
      readonly kind: "change"
      readonly removed: ReadonlyArray<DiffSide>
      readonly added: ReadonlyArray<DiffSide>
    }

const headOf = ({ newLines, newStart, oldLines, oldStart }: DiffHunk, at: number): DiffEntry => {
  const [from, count] = newLines > 0 ? [newStart, newLines] : [oldStart, oldLines]
  return { kind: "hunk", from, to: from + Math.max(0, count - 1), at }
}

const walk = (
  hunk: DiffHunk,
  each: (mark: " " | "+" | "-" | "\\", text: string, old: number, now: number) => void
) => {
  let [old, now] = [hunk.oldStart, hunk.newStart]
  for (const line of hunk.lines) {
    const mark = line[0] === "+" || line[0] === "-" || line[0] === "\\" ? line[0] : " "
    each(mark, line.slice(1), old, now)
    if (mark === " " || mark === "-") old++
    if (mark === " " || mark === "+") now++
  }
}

/** Lines with the text of the line at the same place on the other side. */
const compared = (lines: ReadonlyArray<DiffSide>, others: ReadonlyArray<DiffSide>): ReadonlyArray<DiffSide> =>
  lines.map((side, at) => {
    const other = others[at]
    return other === undefined ? side : { ...side, other: other.text }
  })

const partsOf = (hunk: DiffHunk): ReadonlyArray<HunkPart> => {
  const parts: Array<HunkPart> = []
  let removed: Array<DiffSide> = []
  let added: Array<DiffSide> = []
  const flush = () => {
    if (removed.length > 0 || added.length > 0)
      parts.push({ kind: "change", removed: compared(removed, added), added: compared(added, removed) })
    removed = []
    added = []
  }
  walk(hunk, (mark, text, old, now) => {
    if (mark === "-") {
      // A removal after an addition starts the next change.
      if (added.length > 0) flush()
      removed.push({ number: old, text, mark })
    } else if (mark === "+") added.push({ number: now, text, mark })
    else {
      flush()
      if (mark === "\\") parts.push({ kind: "note", text: text.trim() })
      else parts.push({ kind: "same", old: { number: old, text, mark }, new: { number: now, text, mark } })
    }
  })
  flush()
  return parts
}

const unified = (part: HunkPart): ReadonlyArray<DiffEntry> => {
  if (part.kind === "note") return [part]
  if (part.kind === "same")
    return [{ kind: "line", old: part.old.number, new: part.new.number, side: part.new }]
  return [
    ...part.removed.map((side) => ({ kind: "line", old: side.number, new: undefined, side }) as const),
    ...part.added.map((side) => ({ kind: "line", old: undefined, new: side.number, side }) as const)
  ]
}

const split = (part: HunkPart): ReadonlyArray<DiffEntry> => {
  if (part.kind === "note") return [part]
  if (part.kind === "same") return [{ kind: "pair", old: part.old, new: part.new }]
  const { added, removed } = part
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, at) => ({
    kind: "pair",
    old: removed[at],
    new: added[at]
  }))
}

export const rowsOf = (hunks: ReadonlyArray<DiffHunk>, layout: Layout): ReadonlyArray<DiffEntry> =>
  hunks.flatMap((hunk, at) => [
    headOf(hunk, at),
    ...partsOf(hunk).flatMap<DiffEntry>(layout === "unified" ? unified : split)
  ])
