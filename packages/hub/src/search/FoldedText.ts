/**
 * Text in the form in which search compares it: without case, and without the variants that Unicode calls compatible (full-width letters,
 * ligatures).
 *
 * Guarantees: each character is folded separately, so a place in the folded text is a place in the text. The same in every locale of a database.
 */

/** Characters of a text that search reads; the rest is not found. */
const MAX_TEXT = 32_768

/** Storable text in one spelling of its accents, truncated to what search reads. */
export const searchableText = (text: string): string =>
  text.slice(0, MAX_TEXT).toWellFormed().replaceAll("\0", "\uFFFD").normalize("NFC")

/** Characters that folding may change, besides those of ASCII. Chinese characters fold to themselves. */
const foldable = /[^\0-\x7f\u4e00-\u9fff]/gu

const foldCharacter = (character: string): string => character.normalize("NFKC").toLowerCase()

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text)

/** Folds a searchable text. */
export const foldText = (text: string): string => text.replaceAll(foldable, foldCharacter).toLowerCase()

/** Distinct words of a query, folded. */
export const foldedWords = (query: string): ReadonlyArray<string> => [
  ...new Set(
    foldText(searchableText(query))
      .split(/\s+/)
      .filter((word) => word !== "")
  )
]

/** Place in a text, in UTF-16 units, of a place in its folded text. */
export const unfoldedIndex = (text: string, foldedIndex: number): number => {
  if (isAscii(text.slice(0, foldedIndex + 1))) return foldedIndex
  let index = 0
  let folded = 0
  for (const character of text) {
    folded += character.search(foldable) === -1 ? 1 : foldCharacter(character).length
    if (folded > foldedIndex) return index
    index += character.length
  }
  return index
}
