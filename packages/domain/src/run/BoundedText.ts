/**
 * Bounded text of a display block: the stored part, and the events that contain the rest.
 */
import { charactersFrom, firstCharacters, joinEnds } from "../text/Cut.ts"

export interface BoundedText {
  /** The stored part. */
  readonly text: string
  /** Length of the whole text in characters. */
  readonly size: number
  /** `seq` of the first and the last event that contain the whole text. */
  readonly from: number
  readonly to: number
  /** Characters missing before `text`. All other missing characters are after it. */
  readonly skipped: number
}

/** Stored characters of one text. A growing text can have up to 50 % more. */
export const MAX_KEPT_TEXT = 32_768

export const boundText = (text: string, seq: number, size = text.length): BoundedText => ({
  text: firstCharacters(text, MAX_KEPT_TEXT),
  size,
  from: seq,
  to: seq,
  skipped: 0
})

/** The end of a text, for outputs: what a program says last is what it came to. */
export const boundTextEnd = (bounded: BoundedText, most = MAX_KEPT_TEXT): BoundedText => {
  const text = charactersFrom(bounded.text, Math.max(0, bounded.text.length - most))
  return { ...bounded, text, skipped: bounded.skipped + bounded.text.length - text.length }
}

/** Units of both ends. An event has more of each, so they end before the line that is between its ends. */
const KEPT_START = 4_096
const KEPT_END = 20_480

/** Both ends of a text of `totalBytes` whose middle is left out in its event. */
export const boundTextEnds = (text: string, seq: number, totalBytes: number): BoundedText => {
  const shown =
    text.length <= MAX_KEPT_TEXT
      ? text
      : joinEnds(firstCharacters(text, KEPT_START), charactersFrom(text, text.length - KEPT_END), totalBytes)
  // A text that is cut is never as long as its whole.
  return { text: shown, size: Math.max(totalBytes, shown.length + 1), from: seq, to: seq, skipped: 0 }
}

/** Appends to a growing text. Readers follow its end, so a text that grows too long loses its start, up to the end of a line. */
export const appendText = (bounded: BoundedText, more: string, seq: number): BoundedText => {
  const text = bounded.text + more
  const size = bounded.size + more.length
  if (text.length <= MAX_KEPT_TEXT * 1.5) return { ...bounded, text, size, to: seq }
  const least = text.length - MAX_KEPT_TEXT
  const line = text.indexOf("\n", least)
  const cut = line === -1 || line - least > 2_048 ? least : line + 1
  const rest = charactersFrom(text, cut)
  return { ...bounded, text: rest, size, to: seq, skipped: bounded.skipped + text.length - rest.length }
}

/** The first few lines, for blocks far from the end of a long run. */
export const excerptOf = (bounded: BoundedText): BoundedText =>
  bounded.text.length <= EXCERPT ? bounded : { ...bounded, text: firstCharacters(bounded.text, EXCERPT) }

/** The last few lines, for outputs far from the end of a long run. */
export const excerptOfEnd = (bounded: BoundedText): BoundedText => boundTextEnd(bounded, EXCERPT)

const EXCERPT = 400

/** Whether a part of the text is missing here. */
export const isClipped = ({ size, text }: BoundedText): boolean => text.length < size
