/** Which keys belong to a text, and whether a person is in the middle of one. Pure. */

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
