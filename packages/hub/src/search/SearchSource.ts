/** Texts of changed rows, read from the tables that own them. */
import { MessageId, ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { RunInput } from "@corral/domain/run/Run"
import type { SearchKind } from "@corral/domain/search/SearchResult"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { changedFilesOf } from "./ChangedFiles.ts"

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
