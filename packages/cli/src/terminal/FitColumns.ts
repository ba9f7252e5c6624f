/** Truncates text to a number of columns. Characters from U+1100 may be two columns wide and count as two. */
export const fitColumns = (text: string, columns: number): string => {
  let width = 0
  let shown = ""
  let cut = ""
  for (const character of text) {
    width += character >= "\u1100" ? 2 : 1
    if (width > columns) return `${cut}…`
    shown += character
    if (width < columns) cut = shown
  }
  return shown
}
