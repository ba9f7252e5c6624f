/**
 * Keys of a decision, while the focus is in its card or where keys belong to it: a letter moves the focus to a button, and Enter as the next key
 * presses it.
 *
 * Guarantees: a text decides nothing. A letter with another key after it is the beginning of a text, and Space never presses a button that a
 * letter chose. Only Escape, Tab, Enter, an arrow key or a pointer ends a text.
 */
import { type RefObject, useEffect, useRef } from "react"
import { shortcutOf, useSingleKeys } from "../keys/Shortcut.ts"
import {
  DIALOGS,
  INNER_KEYS,
  TEXT_FIELDS,
  beginsText,
  fieldBelow,
  isTextInProgress,
  writeInto
} from "../keys/TextKey.ts"

/** `armed`: a letter has moved the focus to a button. `writing`: the last keys are a text. */
export type KeyMode = "ready" | "armed" | "writing"

/**
 * `native`: the browser acts. `arm`: the button of the letter takes the focus. `leave`: no button of the card keeps the focus. `write`: the key,
 * and the letter before it, go to the text field below the card. `ignore`: the key has no effect.
 */
export type DecisionAction = "native" | "arm" | "leave" | "write" | "ignore"

export interface DecisionKey {
  readonly mode: KeyMode
  readonly action: DecisionAction
}

export interface DecisionKeyFacts {
  readonly key: string
  /** Whether Ctrl, Alt or Cmd is pressed. */
  readonly isModified: boolean
  readonly isRepeated: boolean
  /** Whether the key is the letter of a button that reacts to it now. */
  readonly hasButton: boolean
}

const MODIFIERS: ReadonlySet<string> = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"])
const keyOfText = (mode: KeyMode, { hasButton, isRepeated, key }: DecisionKeyFacts): DecisionKey => {
  if (mode === "writing") return { mode, action: "ignore" }
  if (mode === "armed") return isRepeated ? { mode, action: "ignore" } : { mode: "writing", action: "write" }
  if (INNER_KEYS.has(key)) return { mode, action: "native" }
  if (hasButton && !isRepeated) return { mode: "armed", action: "arm" }
  return { mode: "writing", action: "write" }
}

export const decisionKeyOf = (mode: KeyMode, facts: DecisionKeyFacts): DecisionKey => {
  const { isModified, key } = facts
  if (MODIFIERS.has(key)) return { mode, action: "native" }
  if (!isModified && (INNER_KEYS.has(key) || beginsText(key))) return keyOfText(mode, facts)
  const isConfirmed = key === "Enter" && !isModified
  if (mode === "armed" && !isConfirmed && key !== "Tab") return { mode: "ready", action: "leave" }
  return { mode: "ready", action: "native" }
}

const letters: ReadonlyMap<string, string> = new Map([
  ["a", "a"],
  ["y", "a"],
  ["d", "d"],
  ["n", "d"],
  ["e", "e"]
])

/** The button of the letter in the card. */
const buttonOf = (card: Element | null, key: string): HTMLElement | undefined => {
  const letter = letters.get(key)
  const selector = `[data-key="${letter}"]:not(:disabled)`
  return letter === undefined ? undefined : (card?.querySelector<HTMLElement>(selector) ?? undefined)
}

const FIELDS = `${TEXT_FIELDS}, ${DIALOGS}`

interface Options {
  /** The time, as `performance.now()` reads it, until which a new request reacts to no key. */
  readonly deafUntil?: RefObject<number>
  /** Whether a key outside the card belongs to the request. */
  readonly isFree: (target: Element) => boolean
  /** Keys of the page around the card. Returns whether the key is one. */
  readonly onKey?: (key: string) => boolean
}

/** Whether nothing has the focus that keys are for. */
export const isPageItself = (target: Element): boolean => target.matches("body, h1, main, [data-kept-focus]")

const leave = (card: Element | null): void => {
  const { activeElement } = document
  if (activeElement instanceof HTMLElement && card?.contains(activeElement) === true) activeElement.blur()
}

/** What the last keys were, and the letter that has armed a button. */
class KeyHistory {
  mode: KeyMode = "ready"
  letter = ""
  private button: HTMLElement | undefined

  arm(button: HTMLElement, letter: string): void {
    button.focus()
    this.button = button
    this.letter = letter
  }

  /** A key of something else. What that is may lose the focus in the middle of a text, whose rest then arrives here. */
  follow({ altKey, ctrlKey, key, metaKey, repeat }: KeyboardEvent): void {
    this.mode = decisionKeyOf(this.mode === "writing" ? "writing" : "ready", {
      key,
      isModified: altKey || ctrlKey || metaKey,
      isRepeated: repeat,
      hasButton: false
    }).mode
  }

  /** A button that has lost the focus by itself is not armed, and the next letter arms no other: it may be part of a text. */
  check(): void {
    if (this.mode === "armed" && document.activeElement !== this.button) this.mode = "writing"
  }
}

/** Acts on a key. `true`: nothing else receives it. */
const pressed = (
  event: KeyboardEvent,
  history: KeyHistory,
  card: Element | null,
  button: HTMLElement | undefined
): boolean => {
  const { altKey, ctrlKey, key, metaKey, repeat } = event
  const { action, mode } = decisionKeyOf(history.mode, {
    key,
    isModified: altKey || ctrlKey || metaKey,
    isRepeated: repeat,
    hasButton: button !== undefined
  })
  const typed = history.mode === "armed" ? history.letter : ""
  history.mode = mode
  if (action === "native") return false
  if (action === "arm" && button !== undefined) history.arm(button, key)
  if (action === "leave") leave(card)
  const field = action === "write" ? fieldBelow(card) : undefined
  if (field !== undefined) writeInto(field, typed)
  else {
    if (action === "write") leave(card)
    event.preventDefault()
  }
  return true
}

/** Keys of an open request, as `DecisionKeys` defines them, while the focus is in its card or where keys belong to it. */
export const useDecisionKeys = (card: RefObject<HTMLElement | null>, options: Options): void => {
  const [isOn] = useSingleKeys()
  const history = useRef(new KeyHistory())
  const latest = useRef(options)
  useEffect(() => {
    latest.current = options
  })
  useEffect(() => {
    const keys = history.current
    const reset = () => (keys.mode = "ready")
    const onKeyDown = (event: KeyboardEvent) => {
      const { isComposing, key, target } = event
      if (isComposing || !(target instanceof Element)) return
      if (target.closest(FIELDS) !== null || document.querySelector(DIALOGS) !== null) return void reset()
      const { deafUntil, isFree, onKey } = latest.current
      const isInside = card.current?.contains(target) === true
      if (!isInside && !(isOn && isFree(target))) return keys.follow(event)
      keys.check()
      const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey
      if (keys.mode === "ready" && isOn && isPlain && !isTextInProgress()) {
        if (onKey?.(key) === true) return event.preventDefault()
        if (shortcutOf(event, { isWriting: false, singleKeys: true }) !== undefined) return
      }
      const isDeaf = isTextInProgress() || performance.now() < (deafUntil?.current ?? 0)
      // A person who is in the middle of a text has not seen the request yet.
      if (isDeaf && isInside && isPlain && (key === " " || key === "Enter")) {
        event.preventDefault()
        return event.stopPropagation()
      }
      const button = isOn && !isDeaf ? buttonOf(card.current, key) : undefined
      if (pressed(event, keys, card.current, button)) event.stopPropagation()
    }
    // Before the page's own shortcuts: a key of a text is none of them.
    addEventListener("keydown", onKeyDown, { capture: true })
    addEventListener("pointerdown", reset, { capture: true })
    return () => {
      removeEventListener("keydown", onKeyDown, { capture: true })
      removeEventListener("pointerdown", reset, { capture: true })
    }
  }, [card, isOn])
}
