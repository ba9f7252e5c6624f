/**
 * Virtual list of a review: which items are rendered, and which one has the focus.
 *
 * Guarantees: the item with the focus, the draft and the head of the file in view stay rendered.
 */
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { DRAFT_KEY, type ReviewItem } from "./ReviewItem.ts"
import { hasHunkDecisions } from "./setFiles.ts"

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
