/**
 * Conversations: one account in one chat or thread, with the location of its new sessions, and the messages that wait for a choice of the account; and
 * the session of each direct chat and thread, for all accounts that write there. A conversation is deleted after a month without a message, a waiting
 * message after a day. A thread that was quiet for half a year starts a new session.
 *
 * Does not: check permissions. The Hub does, for each message.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { AgentInstanceId, InputRequestId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { WorkLocation } from "../button/ButtonActions.ts"
import { ChatKey } from "../following/Follows.ts"
import type { MessageChange } from "../platform/ChatPlatform.ts"
import { queryRow, queryRows, timedStore } from "../store/RowQueries.ts"

/** A message for an agent, as it was written. */
export const ChatMessage = Schema.Struct({
  text: Schema.String,
  /** Key of its event. */
  key: Schema.String,
  /** Whether it starts a new session. */
  fresh: Schema.Boolean,
  /** Whether it is for the run in progress. */
  now: Schema.Boolean,
  /** The question that it may answer: it waits for its author's choice. */
  inputId: Schema.optionalKey(InputRequestId),
  replyTo: Schema.String,
  threadId: Schema.optionalKey(Schema.String),
  /** Whether the chat has no other readers. */
  direct: Schema.Boolean
})
export type ChatMessage = typeof ChatMessage.Type

/** Keys of a conversation and of its chat. */
export interface ConversationKey {
  readonly key: string
  /** Key of the conversation in the chat outside of threads. New threads inherit its location. */
  readonly chatKey: string
  readonly chatId: string
}

interface Conversation {
  readonly place?: WorkLocation | undefined
  /** Oldest first. */
  readonly pending?: ReadonlyArray<ChatMessage> | undefined
}

/** Messages that wait for one choice. */
export const MAX_PENDING_MESSAGES = 10

export const conversationKey = (
  { account, app, platform, tenant }: ChatAccount,
  chatId: string,
  threadId: string | undefined
): string => [platform, app, tenant, account, chatId, threadId ?? ""].join(" ")

/** Key of the thread of a conversation, for all its accounts. */
export const threadKeyOf = ({ key }: Pick<ConversationKey, "key">): string => {
  const [platform, app, tenant, , ...thread] = key.split(" ")
  return [platform, app, tenant, ...thread].join(" ")
}

/** Column of JSON that decodes as absent if an earlier release wrote another shape. */
const lenientColumn = <S extends Schema.Codec<unknown, unknown>>(schema: S) =>
  Schema.NullOr(Schema.fromJsonString(schema)).pipe(
    Schema.catchDecoding(() => Effect.succeed(Option.some(null)))
  )

/** Codec of the table `talks`. */
const ConversationRow = Schema.Struct({
  place: lenientColumn(WorkLocation),
  pending: lenientColumn(Schema.Array(ChatMessage))
})

const WaitingRow = Schema.Struct({ key: Schema.String, pending: ConversationRow.fields.pending })
const encodePending = Schema.encodeSync(ConversationRow.fields.pending)

const encodeRow = Schema.encodeSync(ConversationRow)

const DAY_MS = 86_400_000

/** Conversations of accounts. Does not name the session: all accounts of a thread share it (`ChatSessions`). */
export class Conversations extends Context.Service<
  Conversations,
  {
    /** The conversation; an empty one if none is stored. */
    readonly get: (key: string) => Effect.Effect<Conversation, SqlError.SqlError>
    readonly set: (key: string, conversation: Conversation) => Effect.Effect<void, SqlError.SqlError>
    /** Changes a message of the chat that waits for a choice, or drops it if it was deleted. Returns whether there was one. */
    readonly changePending: (
      chat: ChatKey,
      change: Pick<MessageChange, "messageId" | "text">
    ) => Effect.Effect<boolean, SqlError.SqlError>
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Conversations") {
  static readonly layer = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const { at, sql } = yield* timedStore
      const find = queryRow({
        Request: Schema.String,
        Result: ConversationRow,
        execute: (key) => sql`SELECT place, pending FROM talks WHERE key = ${key}`
      })
      const findWaiting = queryRows({
        Request: Schema.Struct({ ...ChatKey.fields, messageId: Schema.String }),
        Result: WaitingRow,
        execute: ({ app, chatId, messageId, platform, tenant }) => sql`
          SELECT key, pending FROM talks WHERE pending IS NOT NULL AND strpos(pending, ${messageId}) > 0
            AND starts_with(key, ${`${platform} ${app} ${tenant} `}) AND split_part(key, ' ', 5) = ${chatId}`
      })
      return Conversations.of({
        changePending: Effect.fn("Conversations.changePending")(function* (
          { app, chatId, platform, tenant },
          { messageId, text }
        ) {
          const rows = yield* findWaiting({ app, chatId, messageId, platform, tenant })
          const found = rows.find(({ pending }) => pending?.some(({ replyTo }) => replyTo === messageId))
          if (found === undefined) return false
          const changed = (found.pending ?? []).flatMap((message) => {
            if (message.replyTo !== messageId) return [message]
            return text === undefined ? [] : [{ ...message, text }]
          })
          yield* sql`UPDATE talks SET pending = ${encodePending(changed)} WHERE key = ${found.key}`
          return true
        }),
        get: Effect.fn("Conversations.get")(function* (key) {
          const row = yield* find(key)
          return row === undefined ? {} : { place: row.place ?? undefined, pending: row.pending ?? undefined }
        }),
        set: Effect.fn("Conversations.set")(function* (key, { pending, place }) {
          const row = encodeRow({ place: place ?? null, pending: pending ?? null })
          yield* sql`
            INSERT INTO talks ${sql.insert({ key, ...row, updated_at: at() })}
            ON CONFLICT (key) DO UPDATE SET
              place = EXCLUDED.place, pending = EXCLUDED.pending, updated_at = EXCLUDED.updated_at`
        }),
        deleteOld: Effect.suspend(() =>
          Effect.all(
            [
              sql`UPDATE talks SET pending = NULL WHERE pending IS NOT NULL AND updated_at < ${at(-DAY_MS)}`,
              sql`DELETE FROM talks WHERE updated_at < ${at(-30 * DAY_MS)}`
            ],
            { discard: true }
          )
        ).pipe(Effect.withSpan("Conversations.deleteOld"))
      })
    })
  )
}

interface SessionOfChat {
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

const encodeSessionRow = Schema.encodeSync(ChatSessionRow)

const rowOf = ({ agent, place, session }: ChatSession): typeof ChatSessionRow.Encoded =>
  encodeSessionRow({
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

/** Session of each direct chat and thread, with the location of its agent. */
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
      const get = Effect.fn("Conversations.get")(function* (key: string) {
        const row = yield* find(key)
        return row === undefined ? {} : chatSessionOf(row)
      })
      const upsert = (key: string, session: ChatSession) => sql`
        INSERT INTO chat_sessions ${sql.insert({ key, ...rowOf(session), updated_at: at() })}
        ON CONFLICT (key) DO UPDATE SET session_id = EXCLUDED.session_id, project_id = EXCLUDED.project_id,
          agent_instance_id = EXCLUDED.agent_instance_id, place = EXCLUDED.place, updated_at = EXCLUDED.updated_at`
      return ChatSessions.of({
        get,
        set: Effect.fn("Conversations.set")(function* (key, session) {
          yield* upsert(key, session)
        }),
        claim: Effect.fn("Conversations.claim")(function* (key, session) {
          yield* sql`${upsert(key, session)} WHERE chat_sessions.session_id IS NULL`
          return yield* get(key)
        }),
        touch: Effect.fn("Conversations.touch")(function* (key) {
          yield* sql`UPDATE chat_sessions SET updated_at = ${at()} WHERE key = ${key}`
        }),
        deleteOld: Effect.suspend(
          () => sql`DELETE FROM chat_sessions WHERE updated_at < ${at(-LIFETIME_MS)}`
        ).pipe(Effect.asVoid, Effect.withSpan("Conversations.deleteOld"))
      })
    })
  )
}
