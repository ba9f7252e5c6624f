/** Codec of the table `search_documents`. */
import { MessageId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { SearchKind, type SearchResult } from "@corral/domain/search/SearchResult"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"
import { searchExcerptOf, foundLineOf } from "./SearchExcerpt.ts"

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
