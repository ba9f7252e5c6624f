/**
 * Search over the texts of the projects that a user may read, newest first.
 *
 * Guarantees: membership is part of the statement, so a text is found only by those who may read its project at that moment. Every word of the
 * query occurs in a found text. Texts are compared as they are: no character of a query has a special meaning.
 */
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import type { SearchResult } from "@corral/domain/search/SearchResult"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"
import { encodePosition, limitTo, type Position } from "../store/ListPage.ts"
import {
  documentIdOf,
  foldedWords,
  gramsOfWord,
  SEARCH_COLUMNS,
  searchDocumentRows,
  searchResultOf
} from "./SearchDocument.ts"

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
