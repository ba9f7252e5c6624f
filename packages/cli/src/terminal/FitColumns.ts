/**
 * Columns of text on a terminal, at most: terminals differ in emoji and in new characters, and a text that is counted too wide still fits.
 */
import { eastAsianWidth } from "get-east-asian-width"

const EMOJI_PRESENTATION = "\ufe0f"
const combining = /^[\p{Mn}\p{Me}]$/u

/** Columns of one character. Characters from U+1F000 count as two. */
export const columnsOfCharacter = (character: string): number => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x300) return 1
  // Some terminals make the character before it wide.
  if (character === EMOJI_PRESENTATION) return 1
  if (combining.test(character)) return 0
  return code >= 0x1f000 && code < 0xe0000 ? 2 : eastAsianWidth(code)
}

/** Columns of a text on a terminal, at most. */
export const columnsOf = (text: string): number => {
  let width = 0
  for (const character of text) width += columnsOfCharacter(character)
  return width
}

/** Truncates text to a number of columns. */
export const fitColumns = (text: string, columns: number): string => {
  let width = 0
  let shown = ""
  let cut = ""
  for (const character of text) {
    width += columnsOfCharacter(character)
    if (width > columns) return columns < 1 ? "" : `${cut}…`
    shown += character
    if (width < columns) cut = shown
  }
  return shown
}
