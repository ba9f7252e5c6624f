/**
 * Virtual list of a review: which items are rendered, which one has the focus, the lines that the pointer selects, and the keys.
 *
 * Keys are j and k for lines, with Shift for a range, n and p for files, v for viewed, c for a comment, and Ctrl or Cmd with Shift and Enter to send
 * all; of a change set also e for more lines. They work while the focus is in the changes, but not in a field. The pointer selects lines by a drag
 * over line numbers, a click on one, or a click with Shift, and ends with a comment on these lines.
 *
 * Guarantees: the item with the focus, the draft and the head of the file in view stay rendered.
 *
 * Does not: select by touch, where a drag scrolls. A tap on a number is a click.
 */
import { type Range, defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual"
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState
} from "react"
import { type LineRef, lineOfRow } from "./LineComment.ts"
import { DRAFT_KEY, type ReviewItem } from "./ReviewItem.ts"
import { hasHunkDecisions } from "./setFiles.ts"
import type { ReviewFile } from "./useChanges.ts"

/** Selected lines of a file. */
export interface LineSelection {
  readonly file: ReviewFile
  /** Where it began, and where it is now. */
  readonly anchor: LineRef
  readonly head: LineRef
}

/** The line at an element, and its file. With `of`, a line of a number only. */
const lineAt = (
  items: ReadonlyArray<ReviewItem>,
  target: EventTarget,
  of: "number" | "row"
): Omit<LineSelection, "anchor"> | undefined => {
  if (!(target instanceof Element)) return undefined
  const cell = target.closest<HTMLElement>(of === "number" ? ".diff-number[data-side]" : "[data-side]")
  const item = items[Number(cell?.closest<HTMLElement>("[data-index]")?.dataset["index"] ?? -1)]
  if (cell === null || item?.kind !== "row") return undefined
  const head = lineOfRow(item.row, cell.dataset["side"] === "old" ? "old" : "new")
  return head && { file: item.file, head }
}

interface SelectionOptions {
  readonly items: ReadonlyArray<ReviewItem>
  readonly isEnabled: boolean
  readonly onSelected: (selection: LineSelection) => void
}

/** Selection of lines by pointer, which ends with a comment on them. */
export const useLineSelection = ({ isEnabled, items, onSelected }: SelectionOptions) => {
  const [selection, setSelection] = useState<LineSelection>()
  const isDragging = useRef(false)
  const last = useRef<LineSelection>(undefined)
  const end = useRef<() => void>(undefined)
  useEffect(() => {
    end.current = () => {
      if (!isDragging.current) return
      isDragging.current = false
      if (selection === undefined) return
      last.current = selection
      setSelection(undefined)
      onSelected(selection)
    }
  })
  useEffect(() => {
    const onUp = () => end.current?.()
    window.addEventListener("pointerup", onUp)
    return () => window.removeEventListener("pointerup", onUp)
  }, [])
  const onPointerDown = (event: PointerEvent): void => {
    const found = isEnabled && event.button === 0 ? lineAt(items, event.target, "number") : undefined
    if (found === undefined) return
    // Keep the text of the page unselected.
    if (event.pointerType !== "touch") event.preventDefault()
    const before = last.current
    const isMore = event.shiftKey && before?.file === found.file
    isDragging.current = true
    setSelection({ ...found, anchor: isMore ? before.anchor : found.head })
  }
  const onPointerMove = (event: PointerEvent): void => {
    if (!isDragging.current || event.pointerType === "touch" || selection === undefined) return
    const found = lineAt(items, event.target, "row")
    if (found?.file === selection.file) setSelection({ ...selection, head: found.head })
  }
  const onPointerCancel = (): void => {
    isDragging.current = false
    setSelection(undefined)
  }
  return { selection, setSelection, handlers: { onPointerDown, onPointerMove, onPointerCancel } }
}

/** Height of a file head, which stays at the top while its file is in view. */
const HEAD = 36
const heights: Readonly<Record<ReviewItem["kind"], number>> = {
  file: HEAD,
  note: 44,
  row: 20,
  comment: 72,
  draft: 150,
  lost: 40,
  loading: 60,
  apart: 60
}

/** Heads of hunks with buttons, and without. */
const HUNK_HEAD = 36
const PLAIN_HUNK_HEAD = 28

const heightOf = (item: ReviewItem | undefined): number => {
  if (item?.kind === "loading") {
    const { additions, deletions, hunks } = item.file.parts?.changed ?? {
      additions: 0,
      deletions: 0,
      hunks: 0
    }
    return Math.max(heights.loading, additions * 20 + deletions * 20 + hunks * 140)
  }
  if (item?.kind === "row" && item.row.kind === "hunk" && item.file.parts !== undefined)
    return hasHunkDecisions(item.file.parts) ? HUNK_HEAD : PLAIN_HUNK_HEAD
  return heights[item?.kind ?? "row"]
}

/** The last of the sorted numbers that is not greater. */
const lastUpTo = (sorted: ReadonlyArray<number>, most: number): number | undefined => {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((sorted[middle] ?? 0) <= most) from = middle + 1
    else to = middle
  }
  return sorted[from - 1]
}

export type ReviewList = ReturnType<typeof useReviewList>

export const useReviewList = (items: ReadonlyArray<ReviewItem>) => {
  const scroller = useRef<HTMLDivElement>(null)
  const sticky = useRef<number>(undefined)
  /** What covers the item that is scrolled to: the head of its file, unless it is a head. */
  const covered = useRef(HEAD)
  /** The item that gets the focus as soon as it is rendered, and what of it. */
  const wanted = useRef<{ readonly key: string; readonly selector: string }>(undefined)
  const [active, setActive] = useState<string>()
  const [, render] = useState(0)
  const places = useMemo(() => new Map(items.map(({ key }, at) => [key, at])), [items])
  const heads = useMemo(() => items.flatMap(({ kind }, at) => (kind === "file" ? [at] : [])), [items])
  const pinned = [active, DRAFT_KEY].flatMap((key) => places.get(key ?? "") ?? [])
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => heightOf(items[at]),
    getItemKey: (at) => items[at]?.key ?? at,
    overscan: 16,
    scrollPaddingStart: covered.current,
    rangeExtractor: (range: Range) => {
      sticky.current = lastUpTo(heads, range.startIndex)
      const head = sticky.current === undefined ? [] : [sticky.current]
      return [...new Set([...head, ...pinned, ...defaultRangeExtractor(range)])].sort((a, b) => a - b)
    }
  })
  useEffect(() => {
    const at = wanted.current === undefined ? undefined : places.get(wanted.current.key)
    const selector = `[data-index="${at}"] ${wanted.current?.selector ?? ""}`
    const element = scroller.current?.querySelector<HTMLElement>(selector)
    if (at === undefined || element === null || element === undefined) return
    wanted.current = undefined
    element.focus({ preventScroll: true })
  })
  const scrollTo = useCallback(
    (key: string, align: "auto" | "start" = "auto") => {
      const at = places.get(key)
      if (at === undefined) return
      const head = scroller.current?.querySelector(".virtual-head")?.clientHeight ?? HEAD
      covered.current = items[at]?.kind === "file" ? 0 : head
      virtual.setOptions({ ...virtual.options, scrollPaddingStart: covered.current })
      virtual.scrollToIndex(at, { align })
    },
    [items, places, virtual]
  )
  /** Scrolls to an item and focuses it, also if it is rendered later. */
  const focusItem = useCallback(
    (key: string, align: "auto" | "start" = "auto", selector = "[data-focus]") => {
      wanted.current = { key, selector }
      setActive(key)
      render((nth) => nth + 1)
      scrollTo(key, align)
    },
    [scrollTo]
  )
  return { scroller, virtual, sticky, places, active, setActive, focusItem }
}

interface KeyOptions {
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

/** Moves the focus by keys, and starts what the other keys stand for. */
export const useReviewKeys = (options: KeyOptions) => {
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
