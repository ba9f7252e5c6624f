/** As much of a text as fits in that many columns. From the Hangul letters on a character may be two wide: rather a short line than two. */
export const fitColumns = (text: string, room: number): string => {
  let width = 0
  let shown = ""
  let cut = ""
  for (const character of text) {
    width += character >= "\u1100" ? 2 : 1
    if (width > room) return `${cut}…`
    shown += character
    if (width < room) cut = shown
  }
  return shown
}
