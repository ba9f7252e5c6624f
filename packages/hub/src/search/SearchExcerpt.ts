/** Excerpt of a found text: one line around the first word of the query, cut at characters. */
import { foldText, unfoldedIndex } from "./FoldedText.ts"

/** Characters before and after the place of the word. */
const BEFORE = 60
const AFTER = 140

/** `text` is searchable text. Returns its beginning if the word does not occur. */
export const searchExcerptOf = (text: string, word: string): string => {
  const place = Math.max(0, unfoldedIndex(text, Math.max(0, foldText(text).indexOf(word))))
  const begin = Math.max(0, place - BEFORE)
  const end = Math.min(text.length, place + AFTER)
  // A cut inside a surrogate pair removes the pair.
  const cut = text
    .slice(begin, end)
    .replace(/^[\udc00-\udfff]/, "")
    .replace(/[\ud800-\udbff]$/, "")
  const line = cut.replace(/\s+/g, " ").trim()
  return `${begin > 0 ? "…" : ""}${line}${end < text.length ? "…" : ""}`
}

/** The first line that contains the word, for a list of file names. */
export const foundLineOf = (text: string, word: string): string =>
  searchExcerptOf(text.split("\n").find((line) => foldText(line).includes(word)) ?? "", word)
