/**
 * Whether a person is in the middle of a text. A field can lose the focus while a person writes in it, for example when its form is sent, replaced
 * or disabled: the rest of the text then arrives at the page, where letters are keys.
 */
import { useEffect } from "react"
import { isTextAfter, type KeyPlace } from "./TextKey.ts"

export const DIALOGS = "[role=dialog], [role=alertdialog], [role=menu], dialog[open]"
const CHOICES = "input[type=radio], input[type=checkbox]"
export const TEXT_FIELDS = "input, textarea, select, [contenteditable]"

const placeOf = (target: Element): KeyPlace => {
  if (target.closest(DIALOGS) !== null) return "dialog"
  return target.closest(TEXT_FIELDS) === null || target.matches(CHOICES) ? "elsewhere" : "field"
}

/** Of the page: a card that is rendered again in the middle of a text knows of it. */
let isText = false

export const isTextInProgress = (): boolean => isText

/** Follows the keys of the page, once. A pointer ends a text: the person looks at the page. */
export const useTextInProgress = (): void => {
  useEffect(() => {
    const onKeyDown = ({ altKey, ctrlKey, key, metaKey, target }: KeyboardEvent) => {
      if (!(target instanceof Element)) return
      const isModified = altKey || ctrlKey || metaKey
      isText = isTextAfter(isText, { key, isModified, place: placeOf(target) })
    }
    const onPointerDown = () => {
      isText = false
    }
    addEventListener("keydown", onKeyDown, { capture: true })
    addEventListener("pointerdown", onPointerDown, { capture: true })
    return () => {
      removeEventListener("keydown", onKeyDown, { capture: true })
      removeEventListener("pointerdown", onPointerDown, { capture: true })
    }
  }, [])
}
