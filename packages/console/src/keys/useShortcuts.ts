/** Runs the shortcuts of every page. A key that an element of the page has used does nothing here. */
import { useEffect, useRef } from "react"
import { useStoredText } from "../ui/StoredText.ts"
import { type Shortcut, shortcutOf } from "./Shortcut.ts"
import { DIALOGS, TEXT_FIELDS } from "./useTextInProgress.ts"

const OFF = "off"

/** Whether single letters are shortcuts, stored in this browser. */
export const useSingleKeys = (): readonly [boolean, (on: boolean) => void] => {
  const [text, store] = useStoredText("corral.singleKeys")
  return [text !== OFF, (on) => store(on ? "on" : OFF)]
}

const FIELDS = `${TEXT_FIELDS}, [role=listbox], ${DIALOGS}`

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
