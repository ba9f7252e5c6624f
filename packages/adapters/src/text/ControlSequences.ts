/**
 * Control sequences of terminals around a text: titles (OSC), styles and bracketed paste (CSI), other control characters, and byte-order marks.
 * Programs print them on stdout although no terminal is there.
 *
 * Guarantees: linear in the length of the controls. Does not: remove anything inside a text.
 */

const ESCAPE = 0x1b
const BELL = 0x07
const BYTE_ORDER_MARK = 0xfeff
/** `[`: parameters follow, then one character from `@` to `~`. */
const CSI = [0x5b, 0x9b]
/** `]`, `P`, `X`, `^`, `_`: a text follows, until a bell or a string terminator. */
const STRINGS = [0x5d, 0x50, 0x58, 0x5e, 0x5f, 0x9d, 0x90, 0x98, 0x9e, 0x9f]
const STRING_TERMINATOR = 0x9c
const BACKSLASH = 0x5c

const isBetween = (code: number, first: number, last: number): boolean => code >= first && code <= last

/** C0 and C1 controls, the space, DEL and the byte-order mark. */
const isControl = (code: number): boolean =>
  code <= 0x20 || isBetween(code, 0x7f, 0x9f) || code === BYTE_ORDER_MARK

/** Index after the characters in a range. */
const afterRange = (text: string, from: number, first: number, last: number): number => {
  let at = from
  while (at < text.length && isBetween(text.charCodeAt(at), first, last)) at++
  return at
}

/** Index after a string of a control sequence; `undefined` if it has no end. */
const afterString = (text: string, from: number): number | undefined => {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BELL || code === STRING_TERMINATOR) return at + 1
    if (code === ESCAPE && text.charCodeAt(at + 1) === BACKSLASH) return at + 2
  }
  return undefined
}

/** Index of the first character from `from` that is neither white space nor part of a control sequence. */
const afterControls = (text: string, from: number): number => {
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (!isControl(code)) break
    const isEscape = code === ESCAPE
    const kind = isEscape ? text.charCodeAt(at + 1) : code
    const next = isEscape ? at + 2 : at + 1
    if (CSI.includes(kind)) at = afterRange(text, next, 0x20, 0x3f) + 1
    else if (STRINGS.includes(kind)) {
      const after = afterString(text, next)
      if (after === undefined) break
      at = after
    }
    // Other sequences: intermediate characters, then one more.
    else at = isEscape && isBetween(kind, 0x20, 0x2f) ? afterRange(text, next, 0x20, 0x2f) + 1 : next
  }
  return Math.min(at, text.length)
}

/** The text without control sequences before it, and without those after its last `end`. */
export const withoutControls = (text: string, end: string): string => {
  const from = afterControls(text, 0)
  const last = text.lastIndexOf(end)
  const to = last >= from && afterControls(text, last + 1) === text.length ? last + 1 : text.length
  return text.slice(from, to)
}
