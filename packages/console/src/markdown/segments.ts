/**
 * A growing Markdown text in pieces that will not change any more, and its open end: what has been drawn once is not drawn again with each
 * word that comes.
 */

export interface MarkdownSegment {
  /** Where it begins: its name among the segments of a text that only grows. */
  readonly start: number
  readonly text: string
}

const fence = /^ {0,3}(`{3,}|~{3,})/

/** Cut at blank lines outside of fenced code, where a piece has at least `least` characters. The last one is the open end. */
export const segments = (text: string, least = 600): ReadonlyArray<MarkdownSegment> => {
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
/** The parser compares the brackets and emphasis marks of a block with each other: its time grows with the square of their number. */
const MOST_MARKS = 400
/** Everything else that it looks at takes time in proportion. */
const MOST_OTHERS = 8_000
const opening = /^[\s>*+\-\d.)]*/
/** Begins a block also right after a line of text. */
const beginsBlock = /^ {0,3}(?:[-*+] +\S|1[.)] +\S|#{1,6} )/

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Whether a text may be given to the Markdown parser: not so large or so deeply nested that reading it would take the page down. */
export const isTame = (text: string): boolean => {
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
