/**
 * First line of a text, cut to the width of a list.
 */
import { firstCharacters } from "@corral/domain/text/Cut"

/** Maximum number of characters of a title or a label. */
export const MAX_TITLE = 120

/** The first line, cut at the maximum. `…` marks a cut. */
export const titleLine = (text: string): string => {
  const whole = text.trim()
  const end = whole.indexOf("\n")
  if (end === -1 && whole.length <= MAX_TITLE) return whole
  return `${firstCharacters(whole, end === -1 ? MAX_TITLE : Math.min(end, MAX_TITLE))}…`
}
