/**
 * Segments of a growing Markdown text: stable segments and an open end, so that a streamed word does not render the whole text again.
 */

export interface MarkdownSegment {
  /** Start offset. Identifies the segment, because the text only grows. */
  readonly start: number
  readonly text: string
}

const fence = /^ {0,3}(`{3,}|~{3,})/

/** Splits at blank lines outside of fenced code, into segments of at least `least` characters. The last one is the open end. */
export const splitMarkdown = (text: string, least = 600): ReadonlyArray<MarkdownSegment> => {
  const cut: Array<MarkdownSegment> = []
  let start = 0
  let open: string | undefined
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at)
    if (end === -1) break
    const line = text.slice(at, Math.min(end, at + 80))
    const [, marks] = fence.exec(line) ?? []
    if (open === undefined) open = marks
    else if (marks !== undefined && marks[0] === open[0] && marks.length >= open.length) open = undefined
    at = end + 1
    if (open === undefined && line.trim() === "" && at - start >= least) {
      cut.push({ start, text: text.slice(start, at) })
      start = at
    }
  }
  return [...cut, { start, text: text.slice(start) }]
}

const LONGEST = 16_384
const LONGEST_LINE = 4_096
const MOST_LINES = 2_000
const DEEPEST = 20
/** Parse time grows with the square of the number of brackets and emphasis marks in a block. */
const MOST_MARKS = 400
/** Parse time of other text is linear. */
const MOST_OTHERS = 8_000
const opening = /^[\s>*+\-\d.)]*/
/** Starts a block even directly after a line of text. */
const beginsBlock = /^ {0,3}(?:[-*+] +\S|1[.)] +\S|#{1,6} )/

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Whether the Markdown parser can process a text in bounded time. */
export const isSafeToParse = (text: string): boolean => {
  if (text.length > LONGEST || count(text, /[`<&|!]/g) > MOST_OTHERS) return false
  const lines = text.split("\n")
  let inBlock = 0
  return (
    lines.length <= MOST_LINES &&
    lines.every((line) => {
      if (line.length > LONGEST_LINE) return false
      const nested = opening.exec(line)?.[0].replaceAll(/[^>*+)-]/g, "").length ?? 0
      if (nested > DEEPEST && !/^\s*([-*]\s*){3,}$/.test(line)) return false
      if (line.trim() === "" || beginsBlock.test(line)) inBlock = 0
      inBlock += count(line, /[[\]*_~]/g)
      return inBlock <= MOST_MARKS
    })
  )
}
