/**
 * Characters that a person does not see in a command: controls, formats, blank letters, and spaces that are not the usual one.
 *
 * The sign that selects the colored form of an emoji is not one of them.
 */

const unshown =
  /(\p{Extended_Pictographic}\uFE0F)|[^\P{C}\n\t]|[^\P{Z} ]|[\p{Default_Ignorable_Code_Point}\u2800]/gu

const symbolOf = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`

/** The text with a symbol instead of each such character: `<U+3164>`. */
export const unshownAsSymbols = (text: string): string =>
  text.replaceAll(unshown, (found, emoji?: string) => emoji ?? symbolOf(found))

/** Whether a text has characters that are not seen. */
export const hasUnshown = (text: string): boolean => unshownAsSymbols(text) !== text
