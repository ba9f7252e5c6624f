/** Bounded texts of blocks: how they begin, grow and shrink. */
import type { Kept } from "./Block.ts"

/** Characters of one text that are kept; a growing one may be half as long again. */
export const TEXT_KEPT = 32_768

export const keep = (text: string, seq: number, size = text.length): Kept => ({
  text: text.length > TEXT_KEPT ? text.slice(0, TEXT_KEPT) : text,
  size,
  from: seq,
  to: seq,
  skipped: 0
})

/** With more at its end. Whoever follows looks at the end: where it grows too long its beginning goes, up to a line's end. */
export const grown = (kept: Kept, more: string, seq: number): Kept => {
  const text = kept.text + more
  const size = kept.size + more.length
  if (text.length <= TEXT_KEPT * 1.5) return { ...kept, text, size, to: seq }
  const least = text.length - TEXT_KEPT
  const line = text.indexOf("\n", least)
  const cut = line === -1 || line - least > 2_048 ? least : line + 1
  return { ...kept, text: text.slice(cut), size, to: seq, skipped: kept.skipped + cut }
}

/** Only its beginning, where room is short. */
export const excerpt = (kept: Kept): Kept =>
  kept.text.length <= EXCERPT ? kept : { ...kept, text: kept.text.slice(0, EXCERPT) }

const EXCERPT = 400

/** Whether something of it is not here. */
export const isClipped = ({ size, text }: Kept): boolean => text.length < size
