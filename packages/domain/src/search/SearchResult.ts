/** Search over the texts of projects: the query, and what it finds. */
import { Schema } from "effect"
import { MessageId, ProjectId, RunId, SessionId } from "../identity/Ids.ts"
import { isStorableText } from "../text/Text.ts"

/** Words of a query. All of them must occur in a text. */
export const MAX_SEARCH_WORDS = 10

const isSearchable = Schema.makeFilter(
  (text: string) => {
    const trimmed = text.trim()
    return trimmed.length >= 1 && trimmed.length <= 200 && trimmed.split(/\s+/u).length <= MAX_SEARCH_WORDS
  },
  { expected: `1 to 200 characters in at most ${MAX_SEARCH_WORDS} words` }
)

/** Text of a query. Longer texts are refused before they are read. */
export const SearchQuery = Schema.String.check(Schema.isMaxLength(1_024), isSearchable, isStorableText)

/**
 * What a result is: the title of a session, a message, the prompt of a run, its final text, or the names of the files that it changed.
 */
export const SearchKind = Schema.Literals(["title", "message", "prompt", "result", "files"])
export type SearchKind = typeof SearchKind.Type

/** A found text. `excerpt` is the part of it around the first word of the query, or the first file name with that word. */
export const SearchResult = Schema.Struct({
  kind: SearchKind,
  projectId: ProjectId,
  sessionId: Schema.optionalKey(SessionId),
  messageId: Schema.optionalKey(MessageId),
  runId: Schema.optionalKey(RunId),
  excerpt: Schema.String,
  /** When the session was created, the message sent, the run created or ended. */
  at: Schema.String
}).annotate({ identifier: "SearchResult" })
export type SearchResult = typeof SearchResult.Type
