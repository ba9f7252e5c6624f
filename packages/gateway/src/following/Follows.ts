/**
 * Followed messages: their chats, and how far each is followed. The Gateway that holds the lease of a follow does the following. If a Gateway
 * stops, its leases expire after `FOLLOW_LEASE_MS`.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { MessageId, RunId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { LocalizedText } from "../platform/ChatPlatform.ts"
import { queryRow, queryRows, timedStore, type TimedStore } from "../store/RowQueries.ts"
import { inputProgress, startingProgress, TaskProgress } from "./TaskProgress.ts"

/** A chat of one bot. */
export const ChatKey = Schema.Struct({
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  chatId: Schema.String
})
export type ChatKey = typeof ChatKey.Type

/** The chat as a condition on rows. */
export const isInChat = (sql: SqlClient.SqlClient, { app, chatId, platform, tenant }: ChatKey) =>
  sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND chat_id = ${chatId}`

/** The followed message, or the task if an earlier release began to follow it. */
export const FollowId = Schema.Union([MessageId, TaskId])
export type FollowId = typeof FollowId.Type

export interface Follow {
  readonly id: FollowId
  /** Absent for the task of an earlier release. */
  readonly sessionId: SessionId | undefined
  /** The account that wrote the message. Calls to the Hub act as this account. */
  readonly account: ChatAccount
  readonly chatId: string
  readonly replyTo: string | undefined
  readonly threadId: string | undefined
  /** Whether this account is the only reader of the chat. */
  readonly direct: boolean
  readonly language: keyof LocalizedText
  /** Names of the location, for people. */
  readonly place: string
  /** The message of its card, once it is sent. */
  readonly messageId: string | undefined
  /** Whether the card may have been sent although its message is unknown. */
  readonly cardTried: boolean
  readonly runId: RunId | undefined
  /** The last event in `progress`. */
  readonly seq: number
  readonly progress: TaskProgress
  readonly ended: boolean
}

const isMessageId = Schema.is(MessageId)
const isTaskId = Schema.is(TaskId)

/** What a follow is of: a message of a session, or a task. */
export const followedOf = ({
  id,
  sessionId
}: Pick<Follow, "id" | "sessionId">):
  | { readonly sessionId: SessionId; readonly messageId: MessageId }
  | { readonly taskId: TaskId } => {
  if (isTaskId(id)) return { taskId: id }
  // Every follow of a message has its session.
  if (!isMessageId(id) || sessionId === undefined) throw new Error("A followed message has no session.")
  return { sessionId, messageId: id }
}

const StoredProgress = Schema.fromJsonString(TaskProgress)

const encodeProgress = Schema.encodeSync(StoredProgress)

/** Codec of the table `follows`. */
const FollowRow = Schema.Struct({
  id: FollowId,
  session_id: Schema.NullOr(SessionId),
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  account: Schema.String,
  chat_id: Schema.String,
  reply_to: Schema.NullOr(Schema.String),
  thread_id: Schema.NullOr(Schema.String),
  direct: Schema.Boolean,
  language: Schema.Literals(["en", "zh"]),
  place: Schema.String,
  message_id: Schema.NullOr(Schema.String),
  card_tried: Schema.Boolean,
  run_id: Schema.NullOr(RunId),
  seq: Schema.Number,
  progress: StoredProgress,
  ended: Schema.Boolean
})

const FOLLOW_COLUMNS = `id, session_id, platform, app, tenant, account, chat_id, reply_to, thread_id, direct, language, place,
  message_id, card_tried, run_id, seq::float8 AS seq, progress, ended_at IS NOT NULL AS ended`

const followOf = (row: typeof FollowRow.Type): Follow => ({
  id: row.id,
  sessionId: row.session_id ?? undefined,
  account: { platform: row.platform, app: row.app, tenant: row.tenant, account: row.account },
  chatId: row.chat_id,
  replyTo: row.reply_to ?? undefined,
  threadId: row.thread_id ?? undefined,
  direct: row.direct,
  language: row.language,
  place: row.place,
  messageId: row.message_id ?? undefined,
  cardTried: row.card_tried,
  runId: row.run_id ?? undefined,
  seq: row.seq,
  progress: row.progress,
  ended: row.ended
})

const FOLLOW_LEASE_MS = 6_000
const MONTH_MS = 30 * 86_400_000
const MAX_OPEN = 100

type Advance = Pick<Follow, "messageId" | "cardTried" | "runId" | "seq" | "progress" | "ended">
type NewFollow = Omit<Follow, keyof Advance> & {
  /** Whether the message is further input to a run that has its own card. */
  readonly isInput: boolean
}

export class Follows extends Context.Service<
  Follows,
  {
    /** Follows a message from its beginning. A message that is followed already stays as it is. */
    readonly begin: (follow: NewFollow) => Effect.Effect<void, SqlError.SqlError>
    /** The follow of the message that a user has written with that id of the platform. */
    readonly ofMessage: (
      chat: ChatKey,
      replyTo: string
    ) => Effect.Effect<Follow | undefined, SqlError.SqlError>
    readonly get: (id: FollowId) => Effect.Effect<Follow | undefined, SqlError.SqlError>
    /**
     * Renews the leases of `owner` and takes free ones, up to `max`; returns all that it holds. Accounts have equal shares, so that messages that
     * do not end hold up no other account's: beyond its share, an account loses leases that others need.
     */
    readonly lease: (owner: string, max: number) => Effect.Effect<ReadonlyArray<Follow>, SqlError.SqlError>
    readonly release: (owner: string) => Effect.Effect<void, SqlError.SqlError>
    readonly advance: (id: FollowId, state: Advance) => Effect.Effect<void, SqlError.SqlError>
    /** Whether an earlier message of the same session, chat and agent is in progress. */
    readonly hasEarlier: (follow: Follow) => Effect.Effect<boolean, SqlError.SqlError>
    /** Whether another message of the same chat follows this run, or has followed it. */
    readonly hasRun: (follow: Follow, runId: RunId) => Effect.Effect<boolean, SqlError.SqlError>
    /** Messages in progress in a chat, oldest first. */
    readonly openIn: (chat: ChatKey) => Effect.Effect<ReadonlyArray<Follow>, SqlError.SqlError>
    /** Deletes follows that ended a month ago, with their approval cards. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Follows") {
  static readonly layer = Layer.effect(
    Follows,
    Effect.map(timedStore, (store) => {
      const { at, sql } = store
      const { find, lease, ofMessage, openIn } = makeFollowQueries(store)
      return Follows.of({
        begin: Effect.fn("Follows.begin")((follow) => insertFollow(store, follow)),
        ofMessage: Effect.fn("Follows.ofMessage")(function* (chat, replyTo) {
          const row = yield* ofMessage({ ...chat, replyTo })
          return row === undefined ? undefined : followOf(row)
        }),
        get: Effect.fn("Follows.get")(function* (id) {
          const row = yield* find(id)
          return row === undefined ? undefined : followOf(row)
        }),
        lease: Effect.fn("Follows.lease")(function* (owner, max) {
          return (yield* lease({ owner, max })).map(followOf)
        }),
        release: Effect.fn("Follows.release")(function* (owner) {
          yield* sql`
            UPDATE follows SET lease_owner = NULL, lease_until = NULL WHERE lease_owner = ${owner} AND ended_at IS NULL`
        }),
        advance: Effect.fn("Follows.advance")(function* (id, state) {
          const { cardTried, ended, messageId = null, progress, runId = null, seq } = state
          yield* sql`
            UPDATE follows SET message_id = ${messageId}, card_tried = ${cardTried}, run_id = ${runId}, seq = ${seq},
              progress = ${encodeProgress(progress)}, ended_at = ${ended ? at() : null}
            WHERE id = ${id}`
        }),
        hasEarlier: Effect.fn("Follows.hasEarlier")(function* ({ chatId, id, place, sessionId = null }) {
          // Ids are in the order of the messages of a session.
          const earlier = yield* sql`
            SELECT 1 FROM follows WHERE session_id = ${sessionId} AND chat_id = ${chatId} AND place = ${place}
              AND ended_at IS NULL AND id COLLATE "C" < ${id} LIMIT 1`
          return earlier.length > 0
        }),
        hasRun: Effect.fn("Follows.hasRun")(function* ({ chatId, id }, runId) {
          const others = yield* sql`
            SELECT 1 FROM follows WHERE run_id = ${runId} AND chat_id = ${chatId} AND id <> ${id} LIMIT 1`
          return others.length > 0
        }),
        openIn: Effect.fn("Follows.openIn")(function* (chat) {
          return (yield* openIn(chat)).map(followOf)
        }),
        deleteOld: Effect.suspend(() => sql`DELETE FROM follows WHERE ended_at < ${at(-MONTH_MS)}`).pipe(
          Effect.asVoid,
          Effect.withSpan("Follows.deleteOld")
        )
      })
    })
  )
}

const LeaseRequest = Schema.Struct({ owner: Schema.String, max: Schema.Number })

const makeFollowQueries = ({ at, sql }: TimedStore) => {
  const columns = sql.literal(FOLLOW_COLUMNS)
  return {
    find: queryRow({
      Request: FollowId,
      Result: FollowRow,
      execute: (id) => sql`SELECT ${columns} FROM follows WHERE id = ${id}`
    }),
    ofMessage: queryRow({
      Request: Schema.Struct({ ...ChatKey.fields, replyTo: Schema.String }),
      Result: FollowRow,
      execute: ({ replyTo, ...chat }) => sql`
        SELECT ${columns} FROM follows WHERE ${isInChat(sql, chat)} AND reply_to = ${replyTo}`
    }),
    openIn: queryRows({
      Request: ChatKey,
      Result: FollowRow,
      execute: (chat) => sql`
        SELECT ${columns} FROM follows
        WHERE ${isInChat(sql, chat)} AND ended_at IS NULL ORDER BY created_at LIMIT ${MAX_OPEN}`
    }),
    lease: queryRows({
      Request: LeaseRequest,
      Result: FollowRow,
      execute: ({ max, owner }) => sql`
        UPDATE follows SET lease_owner = ${owner}, lease_until = ${at(FOLLOW_LEASE_MS)}
        WHERE id IN (
          SELECT follows.id FROM follows JOIN (
            SELECT id, row_number() OVER (PARTITION BY platform, app, tenant, account ORDER BY created_at, id) AS place
            FROM follows WHERE ended_at IS NULL AND (lease_owner = ${owner} OR lease_until IS NULL OR lease_until < ${at()})
          ) AS ranked ON ranked.id = follows.id
          WHERE ended_at IS NULL AND (lease_owner = ${owner} OR lease_until IS NULL OR lease_until < ${at()})
          ORDER BY ranked.place, created_at LIMIT ${max} FOR UPDATE OF follows SKIP LOCKED
        ) RETURNING ${columns}`
    })
  }
}

const insertFollow = ({ at, sql }: TimedStore, follow: NewFollow) => {
  const {
    account,
    chatId,
    direct,
    id,
    language,
    place,
    replyTo = null,
    sessionId = null,
    threadId = null
  } = follow
  const row = {
    ...account,
    id,
    session_id: sessionId,
    chat_id: chatId,
    reply_to: replyTo,
    thread_id: threadId,
    direct,
    language,
    place,
    seq: 0,
    progress: encodeProgress(follow.isInput ? inputProgress : startingProgress),
    created_at: at()
  }
  return Effect.asVoid(sql`INSERT INTO follows ${sql.insert(row)} ON CONFLICT DO NOTHING`)
}
