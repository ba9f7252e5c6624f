/** Runs the shortcuts of every page. A key that an element of the page has used does nothing here. */
import { useEffect, useRef } from "react"
import { useStoredText } from "../ui/StoredText.ts"
import { type Shortcut, shortcutOf } from "./Shortcut.ts"

const OFF = "off"

/** Whether single letters are shortcuts, stored in this browser. */
export const useSingleKeys = (): readonly [boolean, (on: boolean) => void] => {
  const [text, store] = useStoredText("corral.singleKeys")
  return [text !== OFF, (on) => store(on ? "on" : OFF)]
}

const fields = "input, textarea, select, [contenteditable], [role=menu], [role=listbox], [role=dialog]"
const dialogs = "[role=dialog], [role=alertdialog], [role=menu]"

export const useShortcuts = (onShortcut: (shortcut: Shortcut) => void): void => {
  const [singleKeys] = useSingleKeys()
  const latest = useRef(onShortcut)
  useEffect(() => {
    latest.current = onShortcut
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector(dialogs) !== null) return
      const isWriting = event.target instanceof Element && event.target.closest(fields) !== null
      const shortcut = shortcutOf(event, { isWriting, singleKeys })
      if (shortcut === undefined) return
      event.preventDefault()
      latest.current(shortcut)
    }
    addEventListener("keydown", onKeyDown)
    return () => removeEventListener("keydown", onKeyDown)
  }, [singleKeys])
}
