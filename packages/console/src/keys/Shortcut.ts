/**
 * Keys that work on every page, and what they do. Single letters can be switched off, and never work where a text is written. A key that an
 * element of the page has used does nothing here.
 */
import { useEffect, useRef } from "react"
import { useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { DIALOGS, TEXT_FIELDS } from "./TextKey.ts"

export const shortcuts = {
  palette: "Ctrl K",
  newSession: "c",
  keys: "?"
} as const
type Shortcut = keyof typeof shortcuts

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

/** Whether single letters are shortcuts: a preference of the user. */
export const useSingleKeys = (): readonly [boolean, (on: boolean) => void] => {
  const preferences = usePreferences()
  const change = useChangePreferences()
  // Until they are read, no letter acts: the user may have switched them off.
  const isOn = preferences !== undefined && preferences.singleKeys !== false
  return [isOn, (on) => change(() => ({ singleKeys: on }))]
}

const FIELDS = `${TEXT_FIELDS}, [role=listbox], ${DIALOGS}`

/** Runs the shortcuts of every page. A key that an element of the page has used does nothing here. */
export const useShortcuts = (onShortcut: (shortcut: Shortcut) => void): void => {
  const [singleKeys] = useSingleKeys()
  const latest = useRef(onShortcut)
  useEffect(() => {
    latest.current = onShortcut
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector(DIALOGS) !== null) return
      const isWriting = event.target instanceof Element && event.target.closest(FIELDS) !== null
      const shortcut = shortcutOf(event, { isWriting, singleKeys })
      if (shortcut === undefined) return
      event.preventDefault()
      latest.current(shortcut)
    }
    addEventListener("keydown", onKeyDown)
    return () => removeEventListener("keydown", onKeyDown)
  }, [singleKeys])
}
