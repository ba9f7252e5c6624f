/**
 * Search over the texts of the projects that a user may read, newest first; and its documents: the codec of the table `search_documents`, the excerpt of a
 * found document, and text in the form in which search compares it: without case, and without the variants that Unicode calls compatible, such as full-width
 * letters. Also the grams of a text: the runs of one, two and three characters that the index holds.
 *
 * Guarantees: membership is part of the statement, so a text is found only by those who may read its project at that moment. Every word of the
 * query occurs in a found text. Texts are compared as they are: no character of a query has a special meaning. Each character is folded separately, so a
 * place in the folded text is a place in the text. The same in every locale of a database.
 */
import { MessageId, ProjectId, RunId, SessionId, type UserId } from "@corral/domain/identity/Ids"
import { SearchKind, type SearchResult } from "@corral/domain/search/SearchResult"
import { Schema, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { storedRows, Timestamp } from "../store/StoredRows.ts"
import { encodePosition, limitTo, type Position } from "../store/ListPage.ts"

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

const SEARCH_COLUMNS = Object.keys(SearchDocumentRow.fields).join(", ")

const searchDocumentRows = storedRows("search_documents", SearchDocumentRow)

/** Id of a document: its kind and its resource. */
export const documentIdOf = (
  kind: SearchKind,
  { messageId, runId, sessionId }: Partial<Record<"messageId" | "runId" | "sessionId", string | null>>
): string => `${kind}_${runId ?? messageId ?? sessionId}`

/** A found document as a result for the query whose first folded word is `word`. */
const searchResultOf = (row: SearchDocumentRow, word: string): SearchResult => ({
  kind: row.kind,
  projectId: row.project_id,
  ...(row.session_id === null ? {} : { sessionId: row.session_id }),
  ...(row.message_id === null ? {} : { messageId: row.message_id }),
  ...(row.run_id === null ? {} : { runId: row.run_id }),
  excerpt: row.kind === "files" ? foundLineOf(row.text, word) : searchExcerptOf(row.text, word),
  at: row.at.toISOString()
})

export interface SearchScope {
  readonly reader: UserId
  /** Only this project. The caller has checked that it may be read. */
  readonly projectId?: ProjectId | undefined
}

export class Search extends Context.Service<
  Search,
  {
    /** Results after a position. A query whose statement takes too long fails as `overloaded`. */
    readonly find: (
      query: string,
      scope: SearchScope,
      after: Position | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<SearchResult>, SqlError.SqlError>
  }
>()("corral/hub/Search") {
  static readonly layer = Layer.effect(
    Search,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return Search.of({
        find: Effect.fnUntraced(function* (query, scope, after, limit) {
          const words = foldedWords(query).slice(0, MAX_WORDS)
          const [first] = words
          if (first === undefined) return []
          const request = { words, scope, after, limit }
          const latest = yield* searchDocumentRows.all(findInLatest(sql, request))
          const rows =
            latest.length === limit ? latest : yield* searchDocumentRows.all(findByGrams(sql, request))
          return rows.map((row) => searchResultOf(row, first))
        })
      })
    })
  )
}

/** Words after folding, which can separate one word into several. */
const MAX_WORDS = 20
/** Latest documents that are compared without the index. */
const LATEST = 2_000
const TIMEOUT = "5s"

interface SearchRequest {
  readonly words: ReadonlyArray<string>
  readonly scope: SearchScope
  readonly after: Position | undefined
  readonly limit: number
}

const isInProject = (sql: SqlClient.SqlClient, { projectId }: SearchScope) =>
  projectId === undefined ? [] : [sql`project_id = ${projectId}`]

const isReadable = (sql: SqlClient.SqlClient, { reader }: SearchScope) => sql`
  project_id = ANY (ARRAY(
    SELECT project_id FROM project_members WHERE user_id = ${reader}
    UNION SELECT id FROM projects WHERE visibility = 'internal'
  ))`

const isAfter = (sql: SqlClient.SqlClient, after: Position | undefined) =>
  after === undefined ? [] : [sql`(at, id) < (${new Date(after.at)}, ${after.id})`]

const contains = (sql: SqlClient.SqlClient, words: ReadonlyArray<string>) =>
  words.map((word) => sql`position(${word} IN folded) > 0`)

/**
 * The page, if the latest documents after the position fill it. Finds frequent words, for which the index would return a large part of all
 * documents.
 */
const findInLatest = (sql: SqlClient.SqlClient, { after, limit, scope, words }: SearchRequest) => {
  const conditions = [...isInProject(sql, scope), ...isAfter(sql, after)]
  return sql`
    SELECT ${sql.literal(SEARCH_COLUMNS)} FROM (
      SELECT * FROM search_documents ${conditions.length === 0 ? sql`` : sql`WHERE ${sql.and(conditions)}`}
      ORDER BY at DESC, id DESC ${limitTo(sql, LATEST)}
    ) AS latest
    WHERE ${sql.and([isReadable(sql, scope), ...contains(sql, words)])}
    ORDER BY at DESC, id DESC ${limitTo(sql, limit)}`
}

/**
 * The page by the index. Sorts the keys of all documents with the grams, and compares the texts only until the page is full. The statement
 * timeout bounds it: grams that are frequent, of words that are not.
 */
const findByGrams = (sql: SqlClient.SqlClient, { after, limit, scope, words }: SearchRequest) => {
  const grams = [...new Set(words.flatMap(gramsOfWord))]
  const conditions: ReadonlyArray<Statement.Fragment> = [
    sql`grams @> ${grams}::integer[]`,
    isReadable(sql, scope),
    ...isInProject(sql, scope),
    ...isAfter(sql, after)
  ]
  const columns = sql.literal(SEARCH_COLUMNS)
  return sql.withTransaction(
    Effect.andThen(
      sql`SELECT set_config('statement_timeout', ${TIMEOUT}, true)`,
      sql`
        WITH found AS MATERIALIZED (SELECT id, at FROM search_documents WHERE ${sql.and(conditions)})
        SELECT ${columns} FROM (SELECT id AS key, at AS time FROM found ORDER BY at DESC, id DESC OFFSET 0) AS sorted
        CROSS JOIN LATERAL (
          SELECT ${columns} FROM search_documents WHERE ${sql.and([sql`id = sorted.key`, ...contains(sql, words)])}
        ) AS document
        ORDER BY sorted.time DESC, sorted.key DESC ${limitTo(sql, limit)}`
    )
  )
}

/** Position of a result in its list. */
export const searchPosition = (result: SearchResult): string =>
  encodePosition(result.at, documentIdOf(result.kind, result))
