/**
 * Keeps the search documents equal to the texts of sessions, messages and runs. Triggers note each change in its transaction, so no writer
 * knows about search; the indexer reads the notes, latest first, and writes the documents in small transactions.
 *
 * Guarantees: no committed change is lost, also if a Hub crashes. One Hub at a time indexes, so an older state never replaces a newer one. Texts
 * from before the index are noted by its migration.
 * Does not: make a write wait. A change is found shortly after it.
 */
import { Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { updateDocuments } from "./SearchDocuments.ts"
import { type SearchSource, searchSources } from "./SearchSource.ts"

/** Changed rows per transaction. */
const BATCH = 32
/** Advisory lock of the Hub that indexes. */
const INDEXER_LOCK = 0x5ea2c4

const sources = Object.keys(searchSources) as ReadonlyArray<SearchSource>

const searchChangeRows = storedRows(
  "search_changes",
  Schema.Struct({ source: Schema.Literals(sources), id: Schema.String })
)
const indexerLockRows = storedRows("search_changes", Schema.Struct({ taken: Schema.Boolean }))

/** Indexes the latest changes. Returns their number; 0 if there are none or another Hub indexes. */
const indexBatch = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient) {
    const lock = yield* indexerLockRows.first(
      sql`SELECT pg_try_advisory_xact_lock(${INDEXER_LOCK}::bigint) AS taken`
    )
    if (lock?.taken !== true) return 0
    const changes = yield* searchChangeRows.all(sql`
      DELETE FROM search_changes
      WHERE seq IN (SELECT seq FROM search_changes ORDER BY seq DESC LIMIT ${BATCH}) RETURNING source, id`)
    for (const source of sources) {
      const ids = changes.filter((change) => change.source === source).map(({ id }) => id)
      if (ids.length > 0) yield* updateDocuments(sql, source, [...new Set(ids)])
    }
    return changes.length
  },
  (self, sql) => sql.withTransaction(self)
)

/** Indexes all noted changes. */
export const indexChanges: Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const sql = yield* SqlClient.SqlClient
    const isNoted = Effect.map(
      sql`SELECT 1 FROM search_changes ORDER BY seq DESC LIMIT 1`,
      ({ length }) => length > 0
    )
    while ((yield* isNoted) && (yield* indexBatch(sql)) > 0) yield* Effect.yieldNow
  }
)

export const searchIndexerLayer = Layer.effectDiscard(
  indexChanges.pipe(
    Effect.catchCause((cause) => Effect.logWarning("failed to index texts for search", cause)),
    Effect.repeat(Schedule.spaced("1 second")),
    Effect.forkScoped
  )
)
