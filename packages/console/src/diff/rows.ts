/** Hunks as rows: one column, or the old beside the new. Pure, and linear in the lines. */
import type { DiffHunk } from "@corral/domain/edge-api/Diff"

export type Layout = "unified" | "split"

export interface DiffSide {
  readonly number: number
  readonly text: string
  readonly mark: " " | "+" | "-"
}

export type DiffEntry =
  | { readonly kind: "hunk"; readonly text: string }
  | {
      readonly kind: "line"
      readonly old: number | undefined
      readonly new: number | undefined
      readonly side: DiffSide
    }
  | { readonly kind: "pair"; readonly old: DiffSide | undefined; readonly new: DiffSide | undefined }
  /** No newline at the end of the file. */
  | { readonly kind: "note"; readonly text: string }

const headOf = ({ newLines, newStart, oldLines, oldStart }: DiffHunk): DiffEntry => ({
  kind: "hunk",
  text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`
})

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

const unified = (hunk: DiffHunk): Array<DiffEntry> => {
  const rows: Array<DiffEntry> = [headOf(hunk)]
  walk(hunk, (mark, text, old, now) => {
    if (mark === "\\") return rows.push({ kind: "note", text: text.trim() })
    const side = { number: mark === "-" ? old : now, text, mark }
    return rows.push({
      kind: "line",
      old: mark === "+" ? undefined : old,
      new: mark === "-" ? undefined : now,
      side
    })
  })
  return rows
}

const split = (hunk: DiffHunk): Array<DiffEntry> => {
  const rows: Array<DiffEntry> = [headOf(hunk)]
  let removed: Array<DiffSide> = []
  let added: Array<DiffSide> = []
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      rows.push({ kind: "pair", old: removed[at], new: added[at] })
    removed = []
    added = []
  }
  walk(hunk, (mark, text, old, now) => {
    if (mark === "-") {
      // What is removed after something was added belongs to the next change.
      if (added.length > 0) flush()
      removed.push({ number: old, text, mark })
    } else if (mark === "+") added.push({ number: now, text, mark })
    else {
      flush()
      if (mark === "\\") rows.push({ kind: "note", text: text.trim() })
      else rows.push({ kind: "pair", old: { number: old, text, mark }, new: { number: now, text, mark } })
    }
  })
  flush()
  return rows
}

export const rowsOf = (hunks: ReadonlyArray<DiffHunk>, layout: Layout): ReadonlyArray<DiffEntry> =>
  hunks.flatMap(layout === "unified" ? unified : split)
