/**
 * Session of each direct chat and thread, for all accounts that write there, with the location of its agent. A thread that was quiet for half a
 * year starts a new session.
 *
 * Does not: check permissions. The Hub does, for each message.
 */
import { AgentInstanceId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { WorkLocation } from "../button/ButtonActions.ts"
import { queryRow, timedStore } from "../store/RowQueries.ts"
import { lenientColumn } from "./Conversations.ts"

export interface SessionOfChat {
  readonly id: SessionId
  readonly projectId: ProjectId
}

export interface ChatSession {
  /** Absent until the first message, and after `/new`. */
  readonly session?: SessionOfChat | undefined
  /** The agent that was chosen here; otherwise the session's default receives messages. */
  readonly agent?: AgentInstanceId | undefined
  readonly place?: WorkLocation | undefined
}

const ChatSessionRow = Schema.Struct({
  session_id: Schema.NullOr(SessionId),
  project_id: Schema.NullOr(ProjectId),
  agent_instance_id: Schema.NullOr(AgentInstanceId),
  place: lenientColumn(WorkLocation)
})

const encodeRow = Schema.encodeSync(ChatSessionRow)

const rowOf = ({ agent, place, session }: ChatSession): typeof ChatSessionRow.Encoded =>
  encodeRow({
    session_id: session?.id ?? null,
    project_id: session?.projectId ?? null,
    agent_instance_id: agent ?? null,
    place: place ?? null
  })

const chatSessionOf = (row: typeof ChatSessionRow.Type): ChatSession => ({
  session:
    row.session_id === null || row.project_id === null
      ? undefined
      : { id: row.session_id, projectId: row.project_id },
  agent: row.agent_instance_id ?? undefined,
  place: row.place ?? undefined
})

const LIFETIME_MS = 180 * 86_400_000

export class ChatSessions extends Context.Service<
  ChatSessions,
  {
    /** The session of a thread; an empty one if none is stored. */
    readonly get: (key: string) => Effect.Effect<ChatSession, SqlError.SqlError>
    readonly set: (key: string, session: ChatSession) => Effect.Effect<void, SqlError.SqlError>
    /** Sets the session if the thread has none, and returns the session of the thread. */
    readonly claim: (key: string, session: ChatSession) => Effect.Effect<ChatSession, SqlError.SqlError>
    /** Notes that the session is in use. */
    readonly touch: (key: string) => Effect.Effect<void, SqlError.SqlError>
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/ChatSessions") {
  static readonly layer = Layer.effect(
    ChatSessions,
    Effect.gen(function* () {
      const { at, sql } = yield* timedStore
      const find = queryRow({
        Request: Schema.String,
        Result: ChatSessionRow,
        execute: (key) => sql`
          SELECT session_id, project_id, agent_instance_id, place FROM chat_sessions WHERE key = ${key}`
      })
      const get = Effect.fn("ChatSessions.get")(function* (key: string) {
        const row = yield* find(key)
        return row === undefined ? {} : chatSessionOf(row)
      })
      const upsert = (key: string, session: ChatSession) => sql`
        INSERT INTO chat_sessions ${sql.insert({ key, ...rowOf(session), updated_at: at() })}
        ON CONFLICT (key) DO UPDATE SET session_id = EXCLUDED.session_id, project_id = EXCLUDED.project_id,
          agent_instance_id = EXCLUDED.agent_instance_id, place = EXCLUDED.place, updated_at = EXCLUDED.updated_at`
      return ChatSessions.of({
        get,
        set: Effect.fn("ChatSessions.set")(function* (key, session) {
          yield* upsert(key, session)
        }),
        claim: Effect.fn("ChatSessions.claim")(function* (key, session) {
          yield* sql`${upsert(key, session)} WHERE chat_sessions.session_id IS NULL`
          return yield* get(key)
        }),
        touch: Effect.fn("ChatSessions.touch")(function* (key) {
          yield* sql`UPDATE chat_sessions SET updated_at = ${at()} WHERE key = ${key}`
        }),
        deleteOld: Effect.suspend(
          () => sql`DELETE FROM chat_sessions WHERE updated_at < ${at(-LIFETIME_MS)}`
        ).pipe(Effect.asVoid, Effect.withSpan("ChatSessions.deleteOld"))
      })
    })
  )
}
