/**
 * Keys of a decision: a letter moves the focus to a button, and Enter as the next key presses it. Pure.
 *
 * Guarantees: a text decides nothing. A letter with another key after it is the beginning of a text, and Space never presses a button that a
 * letter chose. Only Escape, Tab, Enter, an arrow key or a pointer ends a text.
 */
import { beginsText, INNER_KEYS } from "../keys/TextKey.ts"

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
export const buttonOf = (card: Element | null, key: string): HTMLElement | undefined => {
  const letter = letters.get(key)
  const selector = `[data-key="${letter}"]:not(:disabled)`
  return letter === undefined ? undefined : (card?.querySelector<HTMLElement>(selector) ?? undefined)
}
