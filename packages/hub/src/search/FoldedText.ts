/**
 * Text in the form in which search compares it: without case, and without the variants that Unicode calls compatible (full-width letters, ligatures).
 * Also its grams: the runs of one, two and three characters that the index holds.
 *
 * Guarantees: each character is folded separately, so a place in the folded text is a place in the text. The same in every locale of a database.
 */

// Grams: the runs of one, two and three characters in the words of a folded text, as integers for an index.
//
// Guarantees: a text that contains a word has all grams that `gramsOfWord` requires for it. Two grams may have the same integer, and a text may
// have the grams of a word without the word, so a query compares the texts as well.
// Why not `pg_trgm`: ADR 53.

const LONGEST = 3

/** Grams that a query requires at most per word. They select enough; the texts are compared anyway. */
const MAX_REQUIRED = 24

/** FNV-1a as a signed 32-bit integer. */
const codeOf = (gram: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < gram.length; i++) hash = Math.imul(hash ^ gram.charCodeAt(i), 0x01000193)
  return hash | 0
}

/** All grams of a folded text, for the index. */
export const gramsOfText = (folded: string): ReadonlyArray<number> => {
  const texts = new Set<string>()
  for (const word of folded.split(/\s+/)) {
    const characters = [...word]
    for (let i = 0; i < characters.length; i++) {
      let gram = ""
      const end = Math.min(i + LONGEST, characters.length)
      for (let next = i; next < end; next++) texts.add((gram += characters[next]))
    }
  }
  return [...new Set([...texts].map(codeOf))]
}

/** Grams that a folded text with the folded word must have. */
export const gramsOfWord = (word: string): ReadonlyArray<number> => {
  const characters = [...word]
  if (characters.length === 0) return []
  const length = Math.min(LONGEST, characters.length)
  const grams = new Set<number>()
  for (let i = 0; i + length <= characters.length && grams.size < MAX_REQUIRED; i++)
    grams.add(codeOf(characters.slice(i, i + length).join("")))
  return [...grams]
}

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
