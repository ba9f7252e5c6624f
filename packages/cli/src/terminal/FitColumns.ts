const isPunctuation = (character: string): boolean => character >= "\u2010" && character <= "\u2027"

/** Characters from U+1100 may be two columns wide and count as two, except dashes, quotation marks and the ellipsis. */
const columnsOfCharacter = (character: string): number =>
  character >= "\u1100" && !isPunctuation(character) ? 2 : 1

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
    if (width > columns) return `${cut}…`
    shown += character
    if (width < columns) cut = shown
  }
  return shown
}
