/** Texts of changed rows, read from the tables that own them. */
import { MessageId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { RunInput } from "@corral/domain/run/Run"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import type { SearchKind } from "@corral/domain/search/SearchResult"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { Timestamp, jsonColumn, storedRows } from "../store/StoredRows.ts"

/** A text with its place. */
export interface SearchText {
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
export const searchSources = {
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

export type SearchSource = keyof typeof searchSources

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
