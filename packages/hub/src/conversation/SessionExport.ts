/**
 * Export of a session as Markdown or JSON: its messages, oldest first, read page by page while the response is sent.
 *
 * Guarantees: memory does not grow with the session. Messages that are added meanwhile are included.
 * Does not: include the events of runs, which have their own log.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { ExportFormat } from "@corral/domain/session/Conversation"
import type { Session } from "@corral/domain/session/Session"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { type ExportedMessage, exportedMessageOf, exportedMessageRows } from "./ExportedMessageRow.ts"
import { markdownHead, markdownMessage } from "./MarkdownExport.ts"

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
