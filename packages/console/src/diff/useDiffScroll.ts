/** Scroll position and keyboard navigation of a diff: the keys n and p focus the next and previous file. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type KeyboardEvent, useRef } from "react"
import type { DiffItem } from "./DiffItem.ts"

export type DiffScroll = Pick<ReturnType<typeof useDiffScroll>, "scroller" | "virtual">

export const useDiffScroll = (items: ReadonlyArray<DiffItem>) => {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => (items[at]?.kind === "file" ? 40 : 20),
    overscan: 20
  })
  const focusFile = (by: 1 | -1) => {
    const heads = items.flatMap((item, at) => (item.kind === "file" ? [{ at, path: item.file.path }] : []))
    const focused = document.activeElement?.getAttribute("data-path")
    const here = heads.findIndex(({ path }) => path === focused)
    const next = heads[here === -1 ? 0 : Math.min(Math.max(here + by, 0), heads.length - 1)]
    if (next === undefined) return
    virtual.scrollToIndex(next.at, { align: "start" })
    // The heading is rendered with the next frame at the latest.
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        scroller.current?.querySelector<HTMLElement>(`[data-at="${next.at}"]`)?.focus()
      )
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "n" || event.key === "p") {
      event.preventDefault()
      focusFile(event.key === "n" ? 1 : -1)
    }
  }
  return { scroller, virtual, onKeyDown }
}
