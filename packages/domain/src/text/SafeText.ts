/**
 * Text of programs as a person must see it before a decision: what is not seen, moves a cursor or reverses the reading order is shown as a symbol.
 * The Edge's segments, the terminal and the console have their symbols from here.
 *
 * Two rules. Of a command, each character is named that is not an ordinary one, since a shell reads them all. Of other text, the spaces and the
 * joiners of languages, and the signs within an emoji, stay as they are.
 *
 * Guarantees: one pass over the text. Newlines and tabs stay. Symbols are never replaced again.
 * Does not: remove escape sequences of terminals, or escape HTML.
 */

/** Controls, formats, blank letters, and spaces that are not the usual one. The sign that selects the colored form of an emoji is none of them. */
const hiddenInCommand =
  /(\p{Extended_Pictographic}\uFE0F)|[^\P{C}\n\t]|[^\P{Z} ]|[\p{Default_Ignorable_Code_Point}\u2800]/gu

const hiddenInText = /(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Signs that enclose the digits after them: they are formats for Unicode, and seen. */
const NUMBER_SIGN = /^[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]$/u
const JOINER = /^[\u200c\u200d]$/u
const VARIATION = /^[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]$/u
/** The end of what a joiner can join: an emoji, or a letter of a script whose letters have several forms. */
const JOINED =
  /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}]$/u
const VISIBLE = /[^\s\p{C}]$/u

/** The symbol of a character: `␛` of an ASCII control, `<U+202E>` of any other. */
const symbolOf = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? "\u2421" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** Whether a format character is a part of the visible text before it. */
const isPartOf = (before: string, character: string): boolean =>
  JOINER.test(character)
    ? JOINED.test(before)
    : VARIATION.test(character)
      ? VISIBLE.test(before)
      : NUMBER_SIGN.test(character)

/** A command, or a part of one. */
export const safeCommand = (text: string): string =>
  text.replaceAll(hiddenInCommand, (found, emoji?: string) => emoji ?? symbolOf(found))

/** Text that is not a command: messages, names, contents of files. */
export const safeText = (text: string): string =>
  text.replaceAll(hiddenInText, (found: string, at: number) =>
    isPartOf(text.slice(Math.max(0, at - 2), at), found) ? found : symbolOf(found)
  )

/** Whether a command has characters that a person does not see. */
export const hidesInCommand = (text: string): boolean => safeCommand(text) !== text
