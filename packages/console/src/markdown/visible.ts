/**
 * Text of programs made honest: what would steer a terminal or turn the reading direction is taken out or named, so that what is read is what
 * is there.
 *
 * Says nothing about HTML: React writes text as text.
 */

const ESC = "\u001b"
const END = String.raw`(?:\u0007|${ESC}\\|\u009c|$)`

/**
 * CSI (its parameters and its last letter are groups), OSC, DCS and the like, and the short escapes; also those that the end of the text
 * cuts off.
 */
export const escapeSequence = new RegExp(
  String.raw`${ESC}(?:\[([0-?]*)[ -/]*([@-~]|$)|[\]PX^_][^\u0007${ESC}\u009c]{0,4096}${END}|[ -/]*[0-~])`,
  "g"
)

/** Controls but tab and newline, marks and overrides of direction, invisible tags and line separators. */
const unseen =
  /(?![\t\n])[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu

const named = (found: string): string => {
  const code = found.codePointAt(0) ?? 0
  // Unicode has pictures of the old control characters.
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return "\u2421"
  return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`
}

/** Without escape sequences, with all other controls visible and every lone surrogate replaced. */
export const visibleText = (text: string): string =>
  shown(text.includes(ESC) ? text.replaceAll(escapeSequence, "") : text)

/** As `visible`, for text whose escape sequences were read before. */
export const shown = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r+\n|\r/g, "\n")
    .replaceAll(unseen, named)

/** On one line, of at most `most` characters. */
export const visibleLine = (text: string, most = 200): string => {
  const line = visibleText(text.slice(0, most * 2))
    .replaceAll(/\s+/g, " ")
    .trim()
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line
}
