/**
 * Conversations: one account in one chat or thread, with the location of its new sessions, and the messages that wait for a choice of the
 * account. A conversation is deleted after a month without a message, a waiting message after a day.
 *
 * Does not: name the session. All accounts of a thread share it (`ChatSessions`).
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { InputRequestId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { WorkLocation } from "../button/ButtonActions.ts"
import { ChatKey } from "../following/RequestCardStore.ts"
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

export interface Conversation {
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
export const lenientColumn = <S extends Schema.Codec<unknown, unknown>>(schema: S) =>
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
