/** Items of the diff list: file headings, their lines and notes. One list, so that only visible items are rendered. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { type DiffEntry, type Layout, rowsOf } from "./rows.ts"

type DiffNote = "binary" | "truncated" | "empty"

export type DiffItem =
  | { readonly kind: "file"; readonly file: FileDiff }
  | { readonly kind: "note"; readonly file: FileDiff; readonly text: DiffNote }
  | { readonly kind: "row"; readonly file: FileDiff; readonly row: DiffEntry }

/** Items of one file. A collapsed file has only its heading. */
export const diffItemsOf = (file: FileDiff, isOpen: boolean, layout: Layout): ReadonlyArray<DiffItem> => {
  const heading = { kind: "file", file } as const
  if (!isOpen) return [heading]
  const note = (text: DiffNote) => ({ kind: "note", file, text }) as const
  if (file.binary) return [heading, note("binary")]
  if (file.hunks.length === 0) return [heading, note(file.truncated ? "truncated" : "empty")]
  const rows = rowsOf(file.hunks, layout).map((row) => ({ kind: "row", file, row }) as const)
  return [heading, ...rows, ...(file.truncated ? [note("truncated")] : [])]
}

/** Files with more changed lines are collapsed initially. */
const LARGE = 500

export const isInitiallyOpen = ({ additions, deletions }: FileDiff): boolean => additions + deletions <= LARGE
