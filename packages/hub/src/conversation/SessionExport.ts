/**
 * Export of a session as Markdown or JSON: its messages, oldest first, read page by page while the response is sent.
 *
 * Guarantees: memory does not grow with the session. Messages that are added meanwhile are included.
 * Does not: include the events of runs, which have their own log.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { safeText } from "@corral/domain/text/SafeText"
import { AgentInstanceId, MessageId, RunId, type SessionId, UserId } from "@corral/domain/identity/Ids"
import type { ExportFormat, Session } from "@corral/domain/session/Session"
import { Context, Effect, Layer, Option, Schema, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/ListPage.ts"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { Attachment } from "@corral/domain/session/Attachment"
import { attachmentsColumn } from "../session/MessageStore.ts"
import { Timestamp, storedRows } from "../store/StoredRows.ts"

// Markdown of an exported conversation.
//
// Guarantees: no text, title or name changes the structure of the document. A text is a code block whose fence is longer than any run of
// backticks in it; a title or a name is one line with all punctuation escaped.

/** One line whose characters mean themselves. */
export const escapeInline = (text: string): string =>
  safeText(text.replace(/[\s\p{Cc}]+/gu, " ").trim()).replace(/[!-/:-@[-`{-~]/g, "\\$&")

/** A code block with exactly this text. */
export const codeBlock = (text: string): string => {
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  const fence = "`".repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}

export const markdownHead = ({ id, projectId, title }: Pick<Session, "id" | "projectId" | "title">): string =>
  `# ${escapeInline(title)}\n\n- Session: ${id}\n- Project: ${projectId}\n`

export const markdownMessage = ({
  attachments = [],
  author,
  createdAt,
  run,
  text
}: ExportedMessage): string => {
  const runLine = run === undefined ? "" : `\n- Run: ${run.id}, ${run.state}`
  const files = attachments.map(
    ({ bytes, id, mediaType, name }) => `\n- File: ${escapeInline(name)}, ${mediaType}, ${bytes} bytes, ${id}`
  )
  return (
    `\n## ${escapeInline(author.name)}\n\n- Author: ${author.kind} ${author.id}\n- Time: ${createdAt}${runLine}${files.join("")}\n\n` +
    `${codeBlock(text)}\n`
  )
}

// Codec of the messages of an export, with the names of their authors and the states of their runs.

const ExportedMessageRow = Schema.Struct({
  id: MessageId,
  user_id: Schema.NullOr(UserId),
  agent_instance_id: Schema.NullOr(AgentInstanceId),
  /** Absent for a removed agent or a deleted user. */
  name: Schema.NullOr(Schema.String),
  text: Schema.String,
  run_id: Schema.NullOr(RunId),
  state: Schema.NullOr(HubRunStatus),
  attachments: attachmentsColumn,
  created_at: Timestamp
})

export const exportedMessageRows = storedRows("messages", ExportedMessageRow)

/** A message of an export. */
export interface ExportedMessage {
  readonly id: MessageId
  readonly author: {
    readonly kind: "agent" | "user"
    readonly id: string
    readonly name: string
  }
  readonly createdAt: string
  readonly text: string
  readonly run?: { readonly id: RunId; readonly state: HubRunStatus }
  readonly attachments?: ReadonlyArray<Attachment>
}

export const exportedMessageOf = (row: typeof ExportedMessageRow.Type): ExportedMessage => {
  const kind = row.user_id === null ? "agent" : "user"
  const id = row.user_id ?? row.agent_instance_id ?? ""
  return {
    id: row.id,
    author: { kind, id, name: row.name ?? id },
    createdAt: row.created_at.toISOString(),
    text: row.text,
    ...(row.run_id === null || row.state === null ? {} : { run: { id: row.run_id, state: row.state } }),
    ...(row.attachments.length === 0 ? {} : { attachments: row.attachments })
  }
}

export class SessionExport extends Context.Service<
  SessionExport,
  {
    /** Pieces of the document. */
    readonly document: (
      proof: Proof<"project.read">,
      session: Session,
      format: ExportFormat
    ) => Stream.Stream<string, SqlError.SqlError>
  }
>()("corral/hub/SessionExport") {
  static readonly layer = Layer.effect(
    SessionExport,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return SessionExport.of({
        document: ({ subject }, session, format) => {
          const { head, item, tail } = formats[format]
          const messages = messagesOf(sql, session.id, subject)
          return Stream.make(head(session)).pipe(
            Stream.concat(Stream.map(Stream.zipWithIndex(messages), ([message, i]) => item(message, i))),
            Stream.concat(Stream.make(tail))
          )
        }
      })
    })
  )
}

interface DocumentFormat {
  readonly head: (session: Session) => string
  readonly item: (message: ExportedMessage, index: number) => string
  readonly tail: string
}

const formats: Readonly<Record<ExportFormat, DocumentFormat>> = {
  markdown: { head: markdownHead, item: markdownMessage, tail: "" },
  json: {
    head: ({ createdAt, id, projectId, title }) =>
      `{"session":${JSON.stringify({ id, projectId, title, createdAt })},"messages":[`,
    item: (message, index) => `${index === 0 ? "" : ","}\n${JSON.stringify(message)}`,
    tail: "\n]}\n"
  }
}

/** Messages per statement. A message has up to 256 KiB. */
const PAGE = 20

const messagesOf = (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  projectId: string
): Stream.Stream<ExportedMessage, SqlError.SqlError> =>
  Stream.paginate(undefined as ExportedMessage | undefined, (last) =>
    Effect.map(
      exportedMessageRows.all(sql`
        SELECT m.id, m.user_id, m.agent_instance_id, COALESCE(u.name, a.label) AS name, m.text, m.run_id, r.state, m.attachments,
          m.created_at
        FROM messages m
        JOIN sessions s ON s.id = m.session_id AND s.project_id = ${projectId}
        LEFT JOIN users u ON u.id = m.user_id
        LEFT JOIN session_agents a ON a.session_id = m.session_id AND a.id = m.agent_instance_id
        LEFT JOIN runs r ON r.id = m.run_id AND r.project_id = s.project_id
        WHERE m.session_id = ${sessionId}
        ${last === undefined ? sql`` : sql`AND (m.created_at, m.id) > (${new Date(last.createdAt)}, ${last.id})`}
        ORDER BY m.created_at, m.id ${limitTo(sql, PAGE)}`),
      (rows) => {
        const page = rows.map(exportedMessageOf)
        const next = page.length < PAGE ? Option.none() : Option.some(page.at(-1))
        return [page, next] as const
      }
    )
  )
