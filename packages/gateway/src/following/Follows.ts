/**
 * Followed tasks: their chats, and how far each is followed. The holder of a follow's lease does the following. If a Gateway stops, its
 * leases expire after `FOLLOW_LEASE_MS`.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { RunId, TaskId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Words } from "../platform/Words.ts"
import { timedStore, type TimedStore } from "../store/TimedStore.ts"
import { type ChatKey, isInChat } from "./ChatKey.ts"
import { queuedProgress, type TaskProgress } from "./TaskProgress.ts"

export const FOLLOW_LEASE_MS = 6_000
const MONTH_MS = 30 * 86_400_000
const MAX_OPEN = 100

export interface Follow {
  readonly taskId: TaskId
  /** The account that asked for the task. Calls to the Hub act as this account. */
  readonly account: ChatAccount
  readonly chatId: string
  readonly replyTo: string | undefined
  readonly threadId: string | undefined
  /** Whether this account is the only reader of the chat. */
  readonly direct: boolean
  readonly language: keyof Words
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

type Advance = Pick<Follow, "messageId" | "cardTried" | "runId" | "seq" | "progress" | "ended">
type NewFollow = Omit<Follow, keyof Advance>

interface FollowRow {
  readonly task_id: TaskId
  readonly platform: string
  readonly app: string
  readonly tenant: string
  readonly account: string
  readonly chat_id: string
  readonly reply_to: string | null
  readonly thread_id: string | null
  readonly direct: boolean
  readonly language: keyof Words
  readonly place: string
  readonly message_id: string | null
  readonly card_tried: boolean
  readonly run_id: RunId | null
  readonly seq: number
  readonly progress: string
  readonly ended: boolean
}

const followOf = (row: FollowRow): Follow => ({
  taskId: row.task_id,
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
  // Written by `advance`.
  progress: JSON.parse(row.progress) as TaskProgress,
  ended: row.ended
})

export class Follows extends Context.Service<
  Follows,
  {
    /** Follows a task from its beginning. A task that is followed already stays as it is. */
    readonly begin: (follow: NewFollow) => Effect.Effect<void, SqlError.SqlError>
    readonly get: (taskId: TaskId) => Effect.Effect<Follow | undefined, SqlError.SqlError>
    /** Renews the leases of `owner` and takes free ones, up to `most`; returns all that it holds. */
    readonly lease: (owner: string, most: number) => Effect.Effect<ReadonlyArray<Follow>, SqlError.SqlError>
    readonly release: (owner: string) => Effect.Effect<void, SqlError.SqlError>
    readonly advance: (taskId: TaskId, state: Advance) => Effect.Effect<void, SqlError.SqlError>
    /** Tasks in progress in a chat, oldest first. */
    readonly openIn: (chat: ChatKey) => Effect.Effect<ReadonlyArray<Follow>, SqlError.SqlError>
    /** Deletes follows that ended a month ago, with their approval cards. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Follows") {
  static readonly layer = Layer.effect(
    Follows,
    Effect.map(timedStore, (store) => {
      const { at, sql } = store
      return Follows.of({
        begin: (follow) => insertFollow(store, follow),
        get: (taskId) =>
          Effect.map(sql<FollowRow>`SELECT ${columns(sql)} FROM follows WHERE task_id = ${taskId}`, ([row]) =>
            row === undefined ? undefined : followOf(row)
          ),
        lease: (owner, most) => leaseFollows(store, owner, most),
        release: (owner) =>
          Effect.asVoid(
            sql`UPDATE follows SET lease_owner = NULL, lease_until = NULL WHERE lease_owner = ${owner}`
          ),
        advance: (taskId, { cardTried, ended, messageId, progress, runId, seq }) =>
          Effect.asVoid(sql`
            UPDATE follows SET message_id = ${messageId ?? null}, card_tried = ${cardTried}, run_id = ${runId ?? null}, seq = ${seq},
              progress = ${JSON.stringify(progress)}, ended_at = ${ended ? at() : null}
            WHERE task_id = ${taskId}`),
        openIn: (chat) =>
          Effect.map(
            sql<FollowRow>`SELECT ${columns(sql)} FROM follows
              WHERE ${isInChat(sql, chat)} AND ended_at IS NULL ORDER BY created_at LIMIT ${MAX_OPEN}`,
            (rows) => rows.map(followOf)
          ),
        deleteOld: Effect.suspend(() =>
          Effect.asVoid(sql`DELETE FROM follows WHERE ended_at < ${at(-MONTH_MS)}`)
        )
      })
    })
  )
}

const columns = (sql: SqlClient.SqlClient) =>
  sql.literal(
    `task_id, platform, app, tenant, account, chat_id, reply_to, thread_id, direct, language, place, message_id,
     card_tried, run_id, seq::float8 AS seq, progress, ended_at IS NOT NULL AS ended`
  )

const insertFollow = (
  { at, sql }: TimedStore,
  { account, chatId, direct, language, place, replyTo, taskId, threadId }: NewFollow
) => {
  const row = {
    ...account,
    task_id: taskId,
    chat_id: chatId,
    reply_to: replyTo ?? null,
    thread_id: threadId ?? null,
    direct,
    language,
    place,
    seq: 0,
    progress: JSON.stringify(queuedProgress),
    created_at: at()
  }
  return Effect.asVoid(sql`INSERT INTO follows ${sql.insert(row)} ON CONFLICT DO NOTHING`)
}

const leaseFollows = ({ at, sql }: TimedStore, owner: string, most: number) =>
  Effect.map(
    sql<FollowRow>`
      UPDATE follows SET lease_owner = ${owner}, lease_until = ${at(FOLLOW_LEASE_MS)}
      WHERE task_id IN (
        SELECT task_id FROM follows
        WHERE ended_at IS NULL AND (lease_owner = ${owner} OR lease_until IS NULL OR lease_until < ${at()})
        ORDER BY lease_owner = ${owner} DESC NULLS LAST, created_at LIMIT ${most}
        FOR UPDATE SKIP LOCKED
      ) RETURNING ${columns(sql)}`,
    (rows) => rows.map(followOf)
  )
