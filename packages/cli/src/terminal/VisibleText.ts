/**
 * Text from an agent as it may be shown on a terminal: what would move the cursor, change colours or reverse the reading order is shown
 * as a sign instead of done. An approval must read as what it is.
 */

/** Control characters but tab and newline, and the format characters that steer direction or take no room. */
const hidden = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const sign = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? "\u2421" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** The text with every hidden character shown. Line ends of Windows are line ends. */
export const escapeControls = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(hidden, sign)

/** The same on one line. */
export const escapeLine = (text: string): string =>
  escapeControls(text).replaceAll("\n", "\u23ce").replaceAll("\t", " ")
