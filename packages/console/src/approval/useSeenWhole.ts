/**
 * Whether a request was on the screen from its first to its last line, and the number of lines that were not.
 *
 * Guarantees: a line counts once it was inside the window and every area that scrolls it, and not below the answers that a phone keeps in view.
 * Text that waits behind a button to show more does not count. Another width or more text starts from what is on the screen then.
 */
import { type RefObject, useLayoutEffect, useRef, useState } from "react"

/** Part of a request that has been on the screen, in pixels from its top. */
export interface ScreenSpan {
  readonly from: number
  readonly to: number
}

/** Fractions of a pixel between two scroll positions hide no text. */
const SLACK = 2

/** Adds a part. The result is in order, and no two parts touch. */
export const withSpan = (spans: ReadonlyArray<ScreenSpan>, added: ScreenSpan): ReadonlyArray<ScreenSpan> => {
  if (added.to <= added.from) return spans
  const merged: Array<ScreenSpan> = []
  for (const span of [...spans, added].toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && span.from <= last.to + SLACK)
      merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
    else merged.push(span)
  }
  return merged
}

/** How much of the height was never on the screen. */
export const unseenHeight = (spans: ReadonlyArray<ScreenSpan>, height: number): number => {
  let seen = 0
  for (const { from, to } of spans) seen += Math.max(0, Math.min(to, height) - Math.max(from, 0))
  const left = height - seen
  return left <= SLACK ? 0 : left
}

const clips = (element: Element): boolean => getComputedStyle(element).overflowY !== "visible"

/** The part of the element that is on the screen, in pixels of the window. */
const visibleSpan = (element: Element): ScreenSpan => {
  const box = element.getBoundingClientRect()
  const answers = element.closest(".approval")?.querySelector(".decision")?.getBoundingClientRect()
  let from = Math.max(box.top, 0)
  let to = Math.min(box.bottom, innerHeight)
  for (let up = element.parentElement; up !== null && up !== document.body; up = up.parentElement)
    if (clips(up)) {
      const { bottom, top } = up.getBoundingClientRect()
      from = Math.max(from, top)
      to = Math.min(to, bottom)
    }
  // Answers that stay in view cover what is below them.
  if (answers !== undefined && answers.top < to && answers.bottom > from) to = answers.top
  return { from, to }
}

/** Lines behind a button to show more. */
const clippedLines = (request: Element): number => {
  let lines = 0
  for (const more of request.querySelectorAll<HTMLElement>("[data-hidden-lines]"))
    if (more.checkVisibility()) lines += Number(more.dataset["hiddenLines"])
  return lines
}

/** Measures a request whenever something may have scrolled or changed its size. */
const observe = (request: HTMLElement, onUnseen: (lines: number) => void): (() => void) => {
  let size = ""
  let spans: ReadonlyArray<ScreenSpan> = []
  const measure = () => {
    const { height, top, width } = request.getBoundingClientRect()
    const { from, to } = visibleSpan(request)
    const measured = `${width} ${height}`
    spans = withSpan(measured === size ? spans : [], { from: from - top, to: to - top })
    size = measured
    const unseen = unseenHeight(spans, height)
    const lineHeight = Number.parseFloat(getComputedStyle(request).lineHeight) || 20
    onUnseen(Math.ceil(unseen / lineHeight) + clippedLines(request))
  }
  measure()
  const resize = new ResizeObserver(measure)
  resize.observe(request)
  // Scrolling does not bubble, but every area is below the document.
  document.addEventListener("scroll", measure, { capture: true, passive: true })
  addEventListener("resize", measure)
  return () => {
    resize.disconnect()
    document.removeEventListener("scroll", measure, { capture: true })
    removeEventListener("resize", measure)
  }
}

export interface SeenWhole {
  /** The request's view. */
  readonly ref: RefObject<HTMLDivElement | null>
  /** Lines that were not on the screen yet. 0 for a request that was seen whole. */
  readonly hiddenLines: number
  /** The whole request is open in the full view. */
  readonly seeAll: () => void
}

/** Of one request, for as long as its card is mounted. */
export const useSeenWhole = (): SeenWhole => {
  const ref = useRef<HTMLDivElement>(null)
  // Until it is measured, the request counts as hidden.
  const [hiddenLines, setHiddenLines] = useState(1)
  const isSeen = hiddenLines === 0
  // Before it is painted: a key that a person presses at once must not find the buttons of a request that is hidden.
  useLayoutEffect(() => {
    if (isSeen || ref.current === null) return undefined
    return observe(ref.current, setHiddenLines)
  }, [isSeen])
  return { ref, hiddenLines, seeAll: () => setHiddenLines(0) }
}
