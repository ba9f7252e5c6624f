/**
 * What a list shows of a text: its first line, and no more of it than fits.
 */

/** Characters of a title or a label; longer ones are cut. */
export const MAX_TITLE = 120

/** The first line, cut; `…` says that there is more. */
export const titleLine = (text: string): string => {
  const whole = text.trim()
  const end = whole.indexOf("\n")
  if (end === -1 && whole.length <= MAX_TITLE) return whole
  return `${whole.slice(0, end === -1 ? MAX_TITLE : Math.min(end, MAX_TITLE))}…`
}
