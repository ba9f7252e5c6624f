/** Cuts of text that fits somewhere, and of trailing characters. Guarantees: none ends or begins with half of a surrogate pair that it has cut. */

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** Whether a cut before that place divides a pair. */
const dividesPair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))

/** The first UTF-16 units of a text, at most `most`. */
export const firstCharacters = (text: string, most: number): string => {
  if (text.length <= most) return text
  return text.slice(0, dividesPair(text, most) ? most - 1 : most)
}

/** The text from that place on, or from the next character if the place is inside of one. */
export const charactersFrom = (text: string, at: number): string =>
  text.slice(dividesPair(text, at) ? at + 1 : at)

/** Most units by which a cut moves to the end of a line. */
const MAX_PART_LINE = 2_048

/** The start without a part of a line at its end. */
const wholeLinesAtStart = (start: string): string => {
  const line = start.lastIndexOf("\n")
  return line === -1 || start.length - line > MAX_PART_LINE ? start : start.slice(0, line)
}

/** The end without a part of a line at its start. */
const wholeLinesAtEnd = (end: string): string => {
  const line = end.indexOf("\n")
  return line === -1 || line > MAX_PART_LINE ? end : end.slice(line + 1)
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const BEFORE_COUNT = "\n⋯ "
const AFTER_COUNT = " bytes ⋯\n"

/** Start and end of a text of `totalBytes`, in whole lines where they are not too long, with a line between them that counts what is left out. */
export const joinEnds = (start: string, end: string, totalBytes: number): string => {
  const [first, last] = [wholeLinesAtStart(start), wholeLinesAtEnd(end)]
  return first + BEFORE_COUNT + String(totalBytes - bytesOf(first) - bytesOf(last)) + AFTER_COUNT + last
}

/** Both ends of a text that `joinEnds` made, and the bytes between them. */
export interface SplitEnds {
  readonly start: string
  readonly missing: number
  readonly end: string
}

/** Takes a joined text apart. `undefined` for other texts. */
export const splitEnds = (text: string): SplitEnds | undefined => {
  const at = text.indexOf(BEFORE_COUNT)
  const to = at === -1 ? -1 : text.indexOf(AFTER_COUNT, at)
  const count = to === -1 ? "" : text.slice(at + BEFORE_COUNT.length, to)
  const missing = Number(count)
  return count === "" || !Number.isSafeInteger(missing)
    ? undefined
    : { start: text.slice(0, at), missing, end: text.slice(to + AFTER_COUNT.length) }
}

/** The text without trailing repetitions of `character`. */
export const withoutTrailing = (text: string, character: string): string => {
  let end = text.length
  while (end > 0 && text.charAt(end - 1) === character) end--
  return text.slice(0, end)
}
