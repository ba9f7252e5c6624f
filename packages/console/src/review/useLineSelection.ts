/**
 * Selection of lines by pointer: a drag over line numbers, a click on one, or a click with Shift. Ends with a comment on these lines.
 *
 * Does not: select by touch, where a drag scrolls. A tap on a number is a click.
 */
import { type PointerEvent, useEffect, useRef, useState } from "react"
import { type LineRef, lineOfRow } from "./LineComment.ts"
import type { ReviewItem } from "./ReviewItem.ts"
import type { ReviewFile } from "./useChanges.ts"

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

interface Options {
  readonly items: ReadonlyArray<ReviewItem>
  readonly isEnabled: boolean
  readonly onSelected: (selection: LineSelection) => void
}

export const useLineSelection = ({ isEnabled, items, onSelected }: Options) => {
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
