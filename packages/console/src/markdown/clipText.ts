/** Parts of a long text that are shown first: its start, or its end. Pure. */

/** Initial limit in characters and lines. */
const FIRST = 6_000
const FIRST_LINES = 80

/** The first characters and lines, cut at a line end if possible. */
export const clipStart = (text: string, most = FIRST, lines = FIRST_LINES): string => {
  let end = -1
  for (let line = 0; line < lines; line++) {
    const next = text.indexOf("\n", end + 1)
    if (next === -1 || next > most) return text.length <= most ? text : text.slice(0, most).toWellFormed()
    end = next
  }
  return end === text.length - 1 ? text : text.slice(0, end)
}

/** The last characters and lines, cut at a line end if possible. A line end at the end of the text ends its last line. */
export const clipEnd = (text: string, most = FIRST, lines = FIRST_LINES): string => {
  let start = text.endsWith("\n") ? text.length - 1 : text.length
  for (let line = 0; line < lines; line++) {
    const before = start <= 0 ? -1 : text.lastIndexOf("\n", start - 1)
    if (before === -1 || text.length - before - 1 > most)
      return text.length <= most
        ? text
        : line === 0
          ? text.slice(-most).toWellFormed()
          : text.slice(start + 1)
    start = before
  }
  return text.slice(start + 1)
}
