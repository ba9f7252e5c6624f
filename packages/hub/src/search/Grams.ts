/**
 * Grams: the runs of one, two and three characters in the words of a folded text, as integers for an index.
 *
 * Guarantees: a text that contains a word has all grams that `gramsOfWord` requires for it. Two grams may have the same integer, and a text may
 * have the grams of a word without the word, so a query compares the texts as well.
 * Why not `pg_trgm`: ADR 53.
 */

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
