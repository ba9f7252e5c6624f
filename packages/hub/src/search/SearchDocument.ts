/**
 * Documents of the search: the codec of the table `search_documents`, the excerpt of a found document, and text in the form in which search compares it:
 * without case, and without the variants that Unicode calls compatible, such as full-width letters. Also the grams of a text: the runs of one, two and three
 * characters that the index holds.
 *
 * Guarantees: each character is folded separately, so a place in the folded text is a place in the text. The same in every locale of a database.
 */
import { MessageId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { SearchKind, type SearchResult } from "@corral/domain/search/SearchResult"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

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

// Excerpt of a found text: one line around the first word of the query, cut at characters.

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
const foundLineOf = (text: string, word: string): string =>
  searchExcerptOf(text.split("\n").find((line) => foldText(line).includes(word)) ?? "", word)

const SearchDocumentRow = Schema.Struct({
  id: Schema.String,
  kind: SearchKind,
  project_id: ProjectId,
  session_id: Schema.NullOr(SessionId),
  message_id: Schema.NullOr(MessageId),
  run_id: Schema.NullOr(RunId),
  at: Timestamp,
  text: Schema.String
})
/**
 * Codec of the table `search_documents`. Also the excerpt of a found document.
 */
type SearchDocumentRow = typeof SearchDocumentRow.Type

export const SEARCH_COLUMNS = Object.keys(SearchDocumentRow.fields).join(", ")

export const searchDocumentRows = storedRows("search_documents", SearchDocumentRow)

/** Id of a document: its kind and its resource. */
export const documentIdOf = (
  kind: SearchKind,
  { messageId, runId, sessionId }: Partial<Record<"messageId" | "runId" | "sessionId", string | null>>
): string => `${kind}_${runId ?? messageId ?? sessionId}`

/** A found document as a result for the query whose first folded word is `word`. */
export const searchResultOf = (row: SearchDocumentRow, word: string): SearchResult => ({
  kind: row.kind,
  projectId: row.project_id,
  ...(row.session_id === null ? {} : { sessionId: row.session_id }),
  ...(row.message_id === null ? {} : { messageId: row.message_id }),
  ...(row.run_id === null ? {} : { runId: row.run_id }),
  excerpt: row.kind === "files" ? foundLineOf(row.text, word) : searchExcerptOf(row.text, word),
  at: row.at.toISOString()
})
