/** Items of the list of changes: file heads, their lines, notes and comments. One list, so that only visible items are rendered. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { type DiffEntry, type Layout, rowsOf } from "../diff/rows.ts"
import { isSameLine, type LineComment, lineOfRow, type LineSpan, type PlacedComment } from "./LineComment.ts"
import type { ReviewFile } from "./useChanges.ts"

export type FileNote = "binary" | "truncated" | "empty" | "renamed" | "mode" | "large"

/** Id of a comment that is being written and was not added yet. */
export const NEW_COMMENT = "new"

/** Key of the item with the field. */
export const DRAFT_KEY = "draft"

export type ReviewItem = { readonly key: string } & (
  | { readonly kind: "file"; readonly file: ReviewFile }
  | { readonly kind: "note"; readonly file: ReviewFile; readonly note: FileNote }
  | { readonly kind: "row"; readonly file: ReviewFile; readonly row: DiffEntry }
  /** Where lines are not loaded. */
  | { readonly kind: "loading"; readonly file: ReviewFile }
  /** Above the files that are not part of `all`. */
  | { readonly kind: "apart" }
  | { readonly kind: "comment"; readonly placed: PlacedComment }
  | { readonly kind: "draft"; readonly draft: LineComment }
  /** Above comments on files that are no longer among the changes. */
  | { readonly kind: "lost" }
)

export interface ReviewState {
  readonly layout: Layout
  readonly isOpen: (file: ReviewFile) => boolean
  /** With the new comment that is being written. */
  readonly comments: ReadonlyArray<PlacedComment>
  /** The comment that is being written or changed. */
  readonly draft: LineComment | undefined
}

/** Files with more changed lines are folded at first. */
const LARGE = 400

export const isLarge = ({ additions, deletions }: FileDiff): boolean => additions + deletions > LARGE

/** What is said of a file instead of, or after, its lines. */
export const noteOf = (diff: FileDiff): FileNote | undefined => {
  if (diff.binary) return "binary"
  if (diff.truncated === true) return "truncated"
  if (diff.hunks.length > 0) return undefined
  if (diff.status === "renamed") return "renamed"
  return diff.status === "modified" ? "mode" : "empty"
}

const cached = new WeakMap<ReviewFile, Map<Layout, ReadonlyArray<ReviewItem>>>()

/** Rows of a file. The same objects while the file does not change, so that a comment does not render all lines again. */
const rowItems = (file: ReviewFile, layout: Layout): ReadonlyArray<ReviewItem> => {
  const layouts = cached.get(file) ?? new Map<Layout, ReadonlyArray<ReviewItem>>()
  cached.set(file, layouts)
  const found = layouts.get(layout)
  if (found !== undefined) return found
  let isFolded = false
  const items = rowsOf(file.diff.hunks, layout).flatMap((row, at): ReadonlyArray<ReviewItem> => {
    const id = row.kind === "hunk" ? file.parts?.hunkIds[row.at] : undefined
    if (row.kind === "hunk") isFolded = id !== undefined && file.parts?.folded.has(id) === true
    else if (isFolded) return []
    // The head of a hunk is the same item while others are decided. Hunks of a file that is decided as a whole have one id.
    const isHunk = id !== undefined && file.parts?.changed.whole === undefined
    const key = isHunk ? hunkKey(id) : `row ${at} ${file.diff.path}`
    return [{ kind: "row", key, file, row }]
  })
  layouts.set(layout, items)
  return items
}

/** Key of a hunk's head. */
const hunkKey = (id: string): string => `hunk ${id}`

const endsAt = (row: DiffEntry, { to }: LineSpan): boolean =>
  isSameLine(lineOfRow(row, "new"), to) || isSameLine(lineOfRow(row, "old"), to)

/** Rows with the comments below them. */
const withComments = (
  rows: ReadonlyArray<ReviewItem>,
  comments: ReadonlyArray<PlacedComment>,
  itemOf: (placed: PlacedComment) => ReviewItem
): ReadonlyArray<ReviewItem> =>
  comments.length === 0
    ? rows
    : rows.flatMap((item) => {
        if (item.kind !== "row") return [item]
        const here = comments.filter(({ span }) => span !== undefined && endsAt(item.row, span))
        return [item, ...here.map(itemOf)]
      })

const fileItems = (
  file: ReviewFile,
  { comments: all, isOpen, layout }: ReviewState,
  itemOf: (placed: PlacedComment) => ReviewItem
): ReadonlyArray<ReviewItem> => {
  const { path } = file.diff
  const head: ReviewItem = { kind: "file", key: `file ${path}`, file }
  const note = (text: FileNote): ReviewItem => ({
    kind: "note",
    key: `note ${text} ${path}`,
    file,
    note: text
  })
  const comments = all.filter(({ comment }) => comment.path === path)
  const above = [head, ...comments.filter(({ span }) => span === undefined).map(itemOf)]
  if (!isOpen(file)) return isLarge(file.diff) ? [...above, note("large")] : above
  if (file.parts?.isLoaded === false) return [...above, { kind: "loading", key: `loading ${path}`, file }]
  const about = noteOf(file.diff)
  return [
    ...above,
    ...withComments(rowItems(file, layout), comments, itemOf),
    ...(about === undefined ? [] : [note(about)])
  ]
}

export const reviewItems = (
  files: ReadonlyArray<ReviewFile>,
  state: ReviewState
): ReadonlyArray<ReviewItem> => {
  const { comments, draft } = state
  const itemOf = (placed: PlacedComment): ReviewItem => {
    const { id } = placed.comment
    return draft?.id === id
      ? { kind: "draft", key: DRAFT_KEY, draft }
      : { kind: "comment", key: `comment ${id}`, placed }
  }
  const paths = new Set(files.map(({ diff }) => diff.path))
  const lost = comments.filter(({ comment, span }) => span === undefined && !paths.has(comment.path))
  return [
    ...(lost.length === 0 ? [] : [{ kind: "lost", key: "lost" } as const]),
    ...lost.map(itemOf),
    ...files.flatMap((file, at) => {
      const isApart = ({ parts }: ReviewFile) => parts?.changed.apart !== undefined
      const before = files[at - 1]
      const isFirst = isApart(file) && (before === undefined || !isApart(before))
      const items = fileItems(file, state, itemOf)
      return isFirst ? [{ kind: "apart", key: "apart" } as const, ...items] : items
    })
  ]
}
