/** Key handler of a button that decides: a text that begins while it has the focus presses it with none of its spaces. */
import type { KeyboardEvent } from "react"
import { beginsText } from "../keys/TextKey.ts"

export const leaveForText = ({ altKey, ctrlKey, key, metaKey, target }: KeyboardEvent): void => {
  if (!altKey && !ctrlKey && !metaKey && beginsText(key) && target instanceof HTMLElement) target.blur()
}
