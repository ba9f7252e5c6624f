/** Keys that work on every page, and what they do. Single letters can be switched off, and never work where a text is written. Pure. */

export const shortcuts = {
  palette: "Ctrl K",
  newSession: "c",
  keys: "?"
} as const
export type Shortcut = keyof typeof shortcuts

export interface PressedKey {
  readonly key: string
  readonly ctrlKey: boolean
  readonly metaKey: boolean
  readonly altKey: boolean
  readonly shiftKey: boolean
}

interface KeyContext {
  /** Whether the focus is in a field or a menu, or the key belongs to an input method. */
  readonly isWriting: boolean
  readonly singleKeys: boolean
}

export const shortcutOf = (
  { altKey, ctrlKey, key, metaKey, shiftKey }: PressedKey,
  { isWriting, singleKeys }: KeyContext
): Shortcut | undefined => {
  const letter = key.toLowerCase()
  if (altKey) return undefined
  if (ctrlKey !== metaKey) {
    if (letter === "k" && !shiftKey) return "palette"
    return letter === "o" && shiftKey ? "newSession" : undefined
  }
  if (ctrlKey || isWriting || !singleKeys) return undefined
  if (key === "?") return "keys"
  return key === "c" && !shiftKey ? "newSession" : undefined
}
