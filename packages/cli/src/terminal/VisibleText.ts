/**
 * Safe text for a terminal. Characters that move the cursor, change colours or reverse the reading order are shown as symbols, so that text
 * from an agent can't disguise an approval.
 */

/** Control characters except tab and newline, and invisible or directional format characters. */
const hidden = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const symbolOf = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? "\u2421" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** Replaces hidden characters by visible symbols. Keeps Windows line endings as newlines. */
export const escapeControls = (text: string): string =>
  text.replaceAll("\r\n", "\n").replaceAll(hidden, symbolOf)

/** As `escapeControls`, on one line. */
export const escapeLine = (text: string): string =>
  escapeControls(text).replaceAll("\n", "\u23ce").replaceAll("\t", " ")
