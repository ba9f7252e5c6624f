/**
 * Keys of decisions about changes: a letter moves the focus to a button, and Enter as the next key presses it.
 *
 * Guarantees: a sentence decides nothing, wherever the focus is in the changes. A letter with another key after it is the beginning of a text, as
 * is a letter that moves with Space after it; in a text, no letter goes to a button. Enter, Escape, Tab, an arrow key or a pointer ends it.
 */
import { type KeyboardEvent, useRef } from "react"
import { useSingleKeys } from "../keys/Shortcut.ts"
import { DIALOGS, INNER_KEYS, TEXT_FIELDS, beginsText, isTextInProgress } from "../keys/TextKey.ts"
import type { ReviewItem } from "./ReviewItem.ts"
import { hasHunkDecisions } from "./setFiles.ts"
import { REVIEW_LETTERS } from "./useReviewKeys.ts"
import type { ReviewList } from "./useReviewList.ts"

/** `moved`: the last key was a letter of the review. `armed`: a letter has moved the focus to a button. */
export type DecideMode = "ready" | "moved" | "armed" | "text"

/** `pass`: the review or the browser acts. `arm`: the button takes the focus. `stop`: the key has no effect. */
export type DecideAction = "pass" | "arm" | "stop"

export interface DecideKeyFacts {
  readonly key: string
  /** Whether Ctrl, Alt or Cmd is pressed. */
  readonly isModified: boolean
  readonly isRepeated: boolean
  /** Whether the key moves in the review, or acts on a file without a decision. */
  readonly isCommand: boolean
  /** Whether the key is the letter of a button that is there. */
  readonly hasButton: boolean
}

export interface DecideKey {
  readonly mode: DecideMode
  readonly action: DecideAction
  /** Whether a button that decides loses the focus first. */
  readonly leaves: boolean
}

const MODIFIERS: ReadonlySet<string> = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"])

const keyOfText = (mode: DecideMode, facts: DecideKeyFacts): DecideKey => {
  const { hasButton, isCommand, isRepeated, key } = facts
  if (mode === "armed") return { mode: isRepeated ? mode : "text", action: "stop", leaves: !isRepeated }
  if (INNER_KEYS.has(key))
    return mode === "ready"
      ? { mode, action: "pass", leaves: false }
      : { mode: "text", action: "pass", leaves: true }
  if (isCommand) return { mode: mode === "text" ? mode : "moved", action: "pass", leaves: true }
  if (hasButton && mode !== "text" && !isRepeated) return { mode: "armed", action: "arm", leaves: false }
  return { mode: "text", action: "pass", leaves: true }
}

export const decideKeyOf = (mode: DecideMode, facts: DecideKeyFacts): DecideKey => {
  const { isModified, key } = facts
  if (MODIFIERS.has(key)) return { mode, action: "pass", leaves: false }
  if (!isModified && (INNER_KEYS.has(key) || beginsText(key))) return keyOfText(mode, facts)
  const stays = (key === "Enter" && !isModified) || key === "Tab"
  return { mode: "ready", action: "pass", leaves: mode === "armed" && !stays }
}

/** The item with the buttons for an item: the head of its hunk, or of its file. */
export const decidingItem = (items: ReadonlyArray<ReviewItem>, at: number): string | undefined => {
  for (let index = at; index >= 0; index--) {
    const item = items[index]
    if (item === undefined || item.kind === "apart" || item.kind === "lost") return undefined
    if (item.kind === "file") return item.file.parts === undefined ? undefined : item.key
    const isHunk = item.kind === "row" && item.row.kind === "hunk"
    if (isHunk && item.file.parts !== undefined && hasHunkDecisions(item.file.parts)) return item.key
  }
  return undefined
}

const letters: ReadonlyMap<string, string> = new Map([
  ["a", "a"],
  ["d", "d"]
])

const isField = (target: Element): boolean =>
  target.matches(TEXT_FIELDS) && !target.matches("input[type=checkbox], input[type=radio]")

const DECIDES = "[data-decides]"

interface Options {
  readonly items: ReadonlyArray<ReviewItem>
  readonly list: ReviewList
  /** Whether anything can be decided now. */
  readonly isOpen: boolean
}

export const useDecideKeys = ({ isOpen, items, list }: Options) => {
  const [isOn] = useSingleKeys()
  const mode = useRef<DecideMode>("ready")
  const leave = (): void => {
    const { activeElement } = document
    if (!(activeElement instanceof HTMLElement) || !activeElement.matches(DECIDES)) return
    if (list.scroller.current === null) activeElement.blur()
    else list.scroller.current.focus({ preventScroll: true })
  }
  const onKeyDownCapture = (event: KeyboardEvent): void => {
    const { altKey, ctrlKey, currentTarget, key, metaKey, nativeEvent, repeat, target } = event
    if (nativeEvent.isComposing || !(target instanceof Element)) return
    // A dialog of the changes is elsewhere in the page.
    if (!currentTarget.contains(target) || isField(target) || document.querySelector(DIALOGS) !== null)
      return void (mode.current = "ready")
    const place = list.places.get(list.active ?? "") ?? list.virtual.range?.startIndex
    const item = place === undefined ? undefined : decidingItem(items, place)
    // A button that has lost the focus by itself is not armed.
    if (mode.current === "armed" && document.activeElement?.matches(DECIDES) !== true) mode.current = "text"
    const before = isTextInProgress() ? "text" : mode.current
    const next = decideKeyOf(before, {
      key,
      isModified: altKey || ctrlKey || metaKey,
      isRepeated: repeat,
      isCommand: REVIEW_LETTERS.has(key),
      hasButton: isOn && isOpen && item !== undefined && letters.has(key)
    })
    mode.current = next.mode
    if (next.leaves) leave()
    if (next.action === "pass") return
    event.preventDefault()
    event.stopPropagation()
    if (next.action === "arm" && item !== undefined)
      list.focusItem(item, "auto", `[data-key="${letters.get(key)}"]:not(:disabled)`)
  }
  return { onKeyDownCapture, onPointerDownCapture: () => void (mode.current = "ready") }
}
