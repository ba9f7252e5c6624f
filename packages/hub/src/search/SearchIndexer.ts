/**
 * Keeps the search documents equal to the texts of sessions, messages and runs. Triggers note each change in its transaction, so no writer
 * knows about search; the indexer reads the notes, mostly the latest first, and writes the documents in small transactions.
 *
 * Guarantees: no committed change is lost, also if a Hub crashes. A text that cannot be indexed is tried again later and holds up no other. One Hub at a time indexes, so an older state never replaces a newer one. Texts
 * from before the index are noted by its migration.
 * Does not: make a write wait. A change is found shortly after it.
 */
import { MessageId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/ListPage.ts"
import { Timestamp, jsonColumn, storedRows } from "../store/StoredRows.ts"
import { LOCK_PATIENCE_MS, limitLockWait, sweepRows } from "../store/Sweep.ts"
import { documentIdOf, foldText, gramsOfText, searchableText } from "./Search.ts"
import { RunInput } from "@corral/domain/run/Run"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import type { SearchKind } from "@corral/domain/search/SearchResult"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"

// Texts of changed rows, read from the tables that own them.

/** A text with its place. */
interface SearchText {
  readonly kind: SearchKind
  readonly projectId: ProjectId
  readonly sessionId: SessionId | null
  readonly messageId: MessageId | null
  readonly runId: RunId | null
  readonly at: Date
  readonly text: string
}

const titleRows = storedRows(
  "sessions",
  Schema.Struct({ id: SessionId, project_id: ProjectId, title: Schema.String, created_at: Timestamp })
)

const messageTextRows = storedRows(
  "messages",
  Schema.Struct({
    id: MessageId,
    session_id: SessionId,
    project_id: ProjectId,
    text: Schema.String,
    created_at: Timestamp
  })
)

const runTextRows = storedRows(
  "runs",
  Schema.Struct({
    id: RunId,
    project_id: ProjectId,
    session_id: Schema.NullOr(SessionId),
    made: jsonColumn(Schema.Struct({ input: RunInput })),
    told: jsonColumn(Schema.Struct({ resultText: Schema.optionalKey(Schema.String) })),
    kept: Schema.Boolean,
    created_at: Timestamp,
    ended_at: Schema.NullOr(Timestamp)
  })
)

type Texts = Effect.Effect<ReadonlyArray<SearchText>, SqlError.SqlError>

const titlesOf = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>): Texts =>
  Effect.map(
    titleRows.all(sql`SELECT id, project_id, title, created_at FROM sessions WHERE id = ANY(${ids}::text[])`),
    (rows) =>
      rows.map(({ created_at: at, id, project_id: projectId, title: text }) => ({
        kind: "title",
        projectId,
        sessionId: id,
        messageId: null,
        runId: null,
        at,
        text
      }))
  )

const messagesOf = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>): Texts =>
  Effect.map(
    messageTextRows.all(sql`
      SELECT m.id, m.session_id, s.project_id, m.text, m.created_at
      FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = ANY(${ids}::text[])`),
    (rows) =>
      rows.map(({ created_at: at, id, project_id: projectId, session_id: sessionId, text }) => ({
        kind: "message",
        projectId,
        sessionId,
        messageId: id,
        runId: null,
        at,
        text
      }))
  )

const textsOfRuns = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) {
  const rows = yield* runTextRows.all(sql`
    SELECT id, project_id, session_id, made, told, kept, created_at, ended_at FROM runs
    WHERE id = ANY(${ids}::text[]) AND replaced_for IS NULL`)
  const texts: Array<SearchText> = []
  for (const row of rows) {
    const place = {
      projectId: row.project_id,
      sessionId: row.session_id,
      messageId: null,
      runId: row.id
    }
    texts.push({ ...place, kind: "prompt", at: row.created_at, text: messageOfPrompt(row.made.input.text) })
    if (row.ended_at === null) continue
    const { resultText } = row.told
    if (resultText !== undefined) texts.push({ ...place, kind: "result", at: row.ended_at, text: resultText })
    const files = row.kept ? yield* changedFilesOf(sql, row.id) : []
    if (files.length > 0) texts.push({ ...place, kind: "files", at: row.ended_at, text: files.join("\n") })
  }
  return texts
})

/** Tables whose rows are searched, with the kinds of their texts. */
const searchSources = {
  sessions: { kinds: ["title"], read: titlesOf },
  messages: { kinds: ["message"], read: messagesOf },
  runs: { kinds: ["prompt", "result", "files"], read: textsOfRuns }
} as const satisfies Record<
  string,
  {
    readonly kinds: ReadonlyArray<SearchKind>
    readonly read: (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) => Texts
  }
>

type SearchSource = keyof typeof searchSources

/** Names per run. */
const MAX_FILES = 1_000
/** Batches per statement, and per run: a batch has about 64 KiB. */
const PAGE = 16
const MAX_BATCHES = 1_600

const MARK = `"run.file.changed"`

const fileBatchRows = storedRows(
  "run_events",
  Schema.Struct({ last_seq: Schema.Int, lines: Schema.NullOr(Schema.String) })
)

const addNames = (names: Set<string>, lines: string): void => {
  for (const line of lines.split("\n")) {
    const received = line.includes(MARK) ? decodeReceivedEvent(JSON.parse(line)) : undefined
    if (received?._tag !== "KnownEvent" || received.event.type !== "run.file.changed") continue
    const { fromPath, path } = received.event.payload
    names.add(path)
    if (fromPath !== undefined) names.add(fromPath)
  }
}

const changedFilesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runId: RunId
): Effect.fn.Return<ReadonlyArray<string>, SqlError.SqlError> {
  const names = new Set<string>()
  let after = 0
  for (let read = 0; read < MAX_BATCHES && names.size < MAX_FILES; read += PAGE) {
    const batches = yield* fileBatchRows.all(sql`
      SELECT last_seq, CASE WHEN position(${MARK} IN lines) > 0 THEN lines END AS lines FROM run_events
      WHERE run_id = ${runId} AND last_seq > ${after} ORDER BY last_seq LIMIT ${PAGE}`)
    for (const { last_seq, lines } of batches) {
      if (lines !== null) addNames(names, lines)
      after = last_seq
    }
    if (batches.length < PAGE) break
  }
  return [...names].slice(0, MAX_FILES)
})

/** Changed rows per transaction. */
const BATCH = 32
/** Part of them that are the oldest ones. */
const OLDEST = 8
const RETRY_MS = 5_000
const MAX_RETRY_MS = 600_000
const MAX_FAILED = 1_000
/** Advisory lock of the Hub that indexes. */
const INDEXER_LOCK = 0x5ea2c4

const sources = Object.keys(searchSources) as ReadonlyArray<SearchSource>

const searchChangeRows = storedRows(
  "search_changes",
  Schema.Struct({ source: Schema.Literals(sources), id: Schema.String })
)
const searchChangeSeqRows = storedRows("search_changes", Schema.Struct({ seq: Schema.String }))
const indexerLockRows = storedRows("search_changes", Schema.Struct({ taken: Schema.Boolean }))

/** Indexes these changes in a transaction. Returns their number; 0 if another Hub indexes or has indexed them. */
const indexThese = Effect.fnUntraced(
  function* (sql: SqlClient.SqlClient, seqs: ReadonlyArray<string>, patienceMs: number) {
    yield* limitLockWait(sql, patienceMs)
    const lock = yield* indexerLockRows.first(
      sql`SELECT pg_try_advisory_xact_lock(${INDEXER_LOCK}::bigint) AS taken`
    )
    if (lock?.taken !== true) return 0
    const changes = yield* searchChangeRows.all(
      sql`DELETE FROM search_changes WHERE seq = ANY(${seqs}::bigint[]) RETURNING source, id`
    )
    for (const source of sources) {
      const ids = changes.filter((change) => change.source === source).map(({ id }) => id)
      if (ids.length > 0) yield* updateDocuments(sql, source, [...new Set(ids)])
    }
    return changes.length
  },
  (self, sql) => sql.withTransaction(self)
)

/** Changes that could not be indexed, by their `seq`, with the monotonic time of the next attempt. */
type FailedChanges = Map<string, { readonly failures: number; readonly retryAt: number }>

const noteFailed = (failed: FailedChanges, seq: string, now: number): void => {
  const failures = (failed.get(seq)?.failures ?? 0) + 1
  failed.set(seq, { failures, retryAt: now + Math.min(RETRY_MS * 2 ** failures, MAX_RETRY_MS) })
  const [oldest] = failed.keys()
  if (failed.size > MAX_FAILED && oldest !== undefined) failed.delete(oldest)
}

/** Indexes each change alone after a batch has failed, so that a damaged text holds up no other. */
const indexOneByOne = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  seqs: ReadonlyArray<string>,
  failed: FailedChanges
) {
  yield* sweepRows({
    page: (after) => Effect.succeed(after === "" ? seqs.map((seq) => ({ seq })) : []),
    keyOf: ({ seq }) => seq,
    visit: ({ seq }, patienceMs) =>
      indexThese(sql, [seq], patienceMs).pipe(
        Effect.tap(() => Effect.sync(() => failed.delete(seq))),
        Effect.tapCause(() => Effect.sync(() => noteFailed(failed, seq, performance.now()))),
        Effect.as(true)
      ),
    failure: "failed to index a text for search"
  })
  return seqs.length
})

/** Most of a batch are the latest changes. The oldest ones have their share, so that they are reached while others arrive. */
const nextBatch = (sql: SqlClient.SqlClient, failed: FailedChanges) => {
  const now = performance.now()
  const waiting = [...failed].flatMap(([seq, { retryAt }]) => (retryAt > now ? [seq] : []))
  const some = (order: "seq" | "seq DESC", limit: number) => sql`(
    SELECT seq FROM search_changes WHERE seq <> ALL(${waiting}::bigint[]) ORDER BY ${sql.literal(order)} ${limitTo(sql, limit)})`
  return Effect.map(
    searchChangeSeqRows.all(sql`
      SELECT seq::text AS seq FROM (${some("seq DESC", BATCH - OLDEST)} UNION ${some("seq", OLDEST)}) AS due`),
    (rows) => rows.map(({ seq }) => seq)
  )
}

/** Indexes all noted changes but those that failed and wait for their next attempt. */
export const indexChanges = (
  failed: FailedChanges = new Map()
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (;;) {
      const seqs = yield* nextBatch(sql, failed)
      if (seqs.length === 0) return
      const indexed = yield* Effect.catchCause(indexThese(sql, seqs, LOCK_PATIENCE_MS), () =>
        indexOneByOne(sql, seqs, failed)
      )
      if (indexed === 0) return
      yield* Effect.yieldNow
    }
  })

export const searchIndexerLayer = Layer.effectDiscard(
  Effect.suspend(() => {
    const failed: FailedChanges = new Map()
    return Effect.repeat(
      Effect.catchCause(indexChanges(failed), (cause) =>
        Effect.logWarning("failed to index texts for search", cause)
      ),
      Schedule.spaced("1 second")
    )
  }).pipe(Effect.forkScoped)
)

/** Writes of search documents. */
const existingProjectRows = storedRows("projects", Schema.Struct({ id: Schema.String }))

const documentOf = ({ at, kind, messageId, projectId, runId, sessionId, text: original }: SearchText) => {
  const text = searchableText(original)
  const folded = foldText(text)
  return {
    id: documentIdOf(kind, { messageId, runId, sessionId }),
    kind,
    project_id: projectId,
    session_id: sessionId,
    message_id: messageId,
    run_id: runId,
    at,
    text,
    folded,
    grams: gramsOfText(folded)
  }
}

/** Keeps the projects until the transaction ends, in one order, and returns those that exist. A deletion waits, so the two never deadlock. */
const lockProjects = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectIds: ReadonlyArray<ProjectId>
) {
  const rows = yield* existingProjectRows.all(
    sql`SELECT id FROM projects WHERE id = ANY(${projectIds}::text[]) ORDER BY id FOR KEY SHARE`
  )
  return new Set<string>(rows.map(({ id }) => id))
})

/** Makes the documents of the rows equal to the rows. Part of the transaction of the caller. */
const updateDocuments = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  source: SearchSource,
  ids: ReadonlyArray<string>
) {
  const { kinds, read } = searchSources[source]
  const texts = yield* read(sql, ids)
  const projects = yield* lockProjects(sql, [...new Set(texts.map(({ projectId }) => projectId))])
  const written = new Set<string>()
  for (const text of texts) {
    if (!projects.has(text.projectId)) continue
    const document = documentOf(text)
    written.add(document.id)
    yield* sql`
      INSERT INTO search_documents ${sql.insert(document)} ON CONFLICT (id) DO UPDATE
      SET at = excluded.at, text = excluded.text, folded = excluded.folded, grams = excluded.grams
      WHERE search_documents.text <> excluded.text OR search_documents.at <> excluded.at`
    // A long text takes some milliseconds.
    yield* Effect.yieldNow
  }
  const outdated = kinds
    .flatMap((kind) => ids.map((runId) => documentIdOf(kind, { runId })))
    .filter((id) => !written.has(id))
  yield* sql`DELETE FROM search_documents WHERE id = ANY(${outdated}::text[])`
})
