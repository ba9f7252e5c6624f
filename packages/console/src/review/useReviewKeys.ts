/**
 * Keys of a review: j and k for lines, with Shift for a range, n and p for files, v for viewed, c for a comment, and Ctrl or Cmd with Shift and
 * Enter to send all; of a change set also e for more lines. They work while the focus is in the changes, but not in a field.
 */
import type { KeyboardEvent } from "react"
import { type LineRef, lineOfRow } from "./LineComment.ts"
import type { ReviewItem } from "./ReviewItem.ts"
import type { ReviewFile } from "./useChanges.ts"
import type { LineSelection } from "./useLineSelection.ts"
import type { ReviewList } from "./useReviewList.ts"

interface Options {
  readonly items: ReadonlyArray<ReviewItem>
  readonly list: ReviewList
  readonly selection: LineSelection | undefined
  readonly setSelection: (selection: LineSelection | undefined) => void
  readonly fileOf: (path: string) => ReviewFile | undefined
  readonly onViewed: (file: ReviewFile) => void
  readonly onComment: (selection: LineSelection) => void
  readonly onSend: () => void
  /** Shows more lines around the changes of a file. */
  readonly onWiden?: ((file: ReviewFile) => void) | undefined
}

/** Letters of a review. None decides. */
export const REVIEW_LETTERS: ReadonlySet<string> = new Set(["j", "J", "k", "K", "n", "p", "v", "c", "e"])

const lineOf = (item: ReviewItem | undefined): LineRef | undefined =>
  item?.kind === "row" ? lineOfRow(item.row) : undefined

const pathOf = (item: ReviewItem | undefined): string | undefined => {
  if (item === undefined || item.kind === "lost" || item.kind === "apart") return undefined
  if (item.kind === "comment") return item.placed.comment.path
  return item.kind === "draft" ? item.draft.path : item.file.diff.path
}

const isField = (target: EventTarget): boolean =>
  target instanceof Element &&
  target.closest("input:not([type=checkbox]), textarea, select, [role=menu]") !== null

export const useReviewKeys = (options: Options) => {
  const { fileOf, items, list, onComment, onSend, onViewed, onWiden, selection, setSelection } = options
  const here = list.places.get(list.active ?? "")
  const current = here === undefined ? undefined : items[here]

  /** The next item of a kind. Without a focused item, the first one in view. */
  const next = (by: 1 | -1, matches: (item: ReviewItem) => boolean): ReviewItem | undefined => {
    const start = here ?? (list.virtual.range?.startIndex ?? 0) - 1
    for (let at = start + by; at >= 0 && at < items.length; at += by) {
      const item = items[at]
      if (item !== undefined && matches(item)) return item
    }
    return undefined
  }
  const moveLine = (by: 1 | -1, isRange: boolean): void => {
    const item = next(by, (each) => lineOf(each) !== undefined || each.kind === "comment")
    if (item === undefined) return
    const [from, to] = [lineOf(current), lineOf(item)]
    const isExtension = isRange && item.kind === "row" && from !== undefined && to !== undefined
    if (isRange && !isExtension) return
    if (isExtension && pathOf(current) !== item.file.diff.path) return
    setSelection(isExtension ? { file: item.file, anchor: selection?.anchor ?? from, head: to } : undefined)
    list.focusItem(item.key)
  }
  const moveFile = (by: 1 | -1): void => {
    setSelection(undefined)
    const item = next(by, ({ kind }) => kind === "file")
    if (item !== undefined) list.focusItem(item.key, "start")
  }
  const markViewed = (): void => {
    const file = fileOf(pathOf(current) ?? "")
    if (file === undefined) return
    onViewed(file)
    list.focusItem(`file ${file.diff.path}`)
  }
  const comment = (): void => {
    const line = lineOf(current)
    if (selection !== undefined) onComment(selection)
    else if (current?.kind === "row" && line !== undefined)
      onComment({ file: current.file, anchor: line, head: line })
  }
  const widen = (): void => {
    const file = fileOf(pathOf(current) ?? "")
    if (file !== undefined) onWiden?.(file)
  }
  const actions: Readonly<Record<string, () => void>> = {
    e: widen,
    j: () => moveLine(1, false),
    J: () => moveLine(1, true),
    k: () => moveLine(-1, false),
    K: () => moveLine(-1, true),
    n: () => moveFile(1),
    p: () => moveFile(-1),
    v: markViewed,
    c: comment
  }
  return (event: KeyboardEvent): void => {
    const isCommand = event.ctrlKey || event.metaKey
    if (isCommand && event.shiftKey && event.key === "Enter") {
      event.preventDefault()
      onSend()
      return
    }
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined
    if (action === undefined || isCommand || event.altKey || isField(event.target)) return
    event.preventDefault()
    // The page has its own single keys.
    event.stopPropagation()
    action()
  }
}
