/**
 * Codec of the table `search_documents`. Also the excerpt of a found document.
 */
import { MessageId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { SearchKind, type SearchResult } from "@corral/domain/search/SearchResult"
import { Schema } from "effect"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import { foldText, unfoldedIndex } from "./FoldedText.ts"

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
export const foundLineOf = (text: string, word: string): string =>
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
export type SearchDocumentRow = typeof SearchDocumentRow.Type

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
