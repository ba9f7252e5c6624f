/**
 * Which keys belong to a text, whether a person is in the middle of one, and the text field below a card of a thread, where arrives what is
 * typed while the card has the focus.
 */
import { type KeyboardEvent as ReactKeyboardEvent, useEffect } from "react"

/** The text field of the composer, or of another message form below the card. */
export const fieldBelow = (card: Element | null): HTMLTextAreaElement | undefined => {
  const fields = card?.closest(".thread-dock")?.querySelectorAll("textarea") ?? []
  return [...fields].findLast((field) => card?.contains(field) !== true)
}

/** Focuses the field and puts a text where its caret is. The browser then enters the pressed key itself. */
export const writeInto = (field: HTMLTextAreaElement, text: string): void => {
  field.focus()
  if (text === "") return
  const { selectionEnd, selectionStart } = field
  field.setRangeText(text, selectionStart, selectionEnd, "end")
  field.dispatchEvent(new Event("input", { bubbles: true }))
}

/** Keys that can be in a text but do not begin one. Space presses the button that the person went to with Tab. */
export const INNER_KEYS: ReadonlySet<string> = new Set([" ", "Backspace", "Delete"])
/** Keys of input methods and dead keys. */
const COMPOSED_KEYS: ReadonlySet<string> = new Set(["Process", "Dead", "Unidentified"])

/** Whether a key begins a text. */
export const beginsText = (key: string): boolean =>
  !INNER_KEYS.has(key) && ([...key].length === 1 || COMPOSED_KEYS.has(key))

/** What has the focus: a text field, a field or an entry of a dialog or menu, or anything else. */
export type KeyPlace = "field" | "dialog" | "elsewhere"

interface PlacedKey {
  readonly key: string
  readonly place: KeyPlace
  /** Whether Ctrl, Alt or Cmd is pressed. */
  readonly isModified: boolean
}

/**
 * Whether a text is in progress after a key. Enter in a field sends a text, and another follows, as in a chat. Escape and Tab leave the field, and
 * Enter chooses in a dialog.
 */
export const isTextAfter = (isText: boolean, { isModified, key, place }: PlacedKey): boolean => {
  if (key === "Escape" || key === "Tab" || place === "dialog") return false
  if (place === "elsewhere") return isText
  return isText || (!isModified && (beginsText(key) || INNER_KEYS.has(key) || key === "Enter"))
}

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

/**
 * Whether a person is in the middle of a text. A field can lose the focus while a person writes in it, for example when its form is sent,
 * replaced or disabled: the rest of the text then arrives at the page, where letters are keys. Follows the keys of the page, once. A pointer
 * ends a text: the person looks at the page.
 */
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

/** Key handler of a button that decides: a text that begins while it has the focus presses it with none of its spaces. */
export const leaveForText = ({ altKey, ctrlKey, key, metaKey, target }: ReactKeyboardEvent): void => {
  if (!altKey && !ctrlKey && !metaKey && beginsText(key) && target instanceof HTMLElement) target.blur()
}
