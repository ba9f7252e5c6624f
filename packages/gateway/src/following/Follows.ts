/**
 * Which tasks are followed in which chats, and how far. Whoever holds a follow's lease does the following; a Gateway that dies holds it no
 * longer than `LEASE_MS`.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { ApprovalId, RunId, TaskId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Words } from "../platform/Words.ts"
import type { ApprovalSummary, ResolvedState } from "./ApprovalCard.ts"
import { begun, type Progress } from "./RunCard.ts"

export const FOLLOW_LEASE_MS = 6_000
const DAY_MS = 86_400_000

export interface Follow {
  readonly taskId: TaskId
  /** Who asked for the work, and reads of it. */
  readonly account: ChatAccount
  readonly chatId: string
  readonly replyTo: string | undefined
  readonly threadId: string | undefined
  /** Whether nobody but that account reads the chat. */
  readonly direct: boolean
  readonly language: keyof Words
  /** Names for a person. */
  readonly place: string
  /** Of its card, once there is one. */
  readonly messageId: string | undefined
  /** Whether its card may have been sent, though its message is not known. */
  readonly cardTried: boolean
  readonly runId: RunId | undefined
  /** The last event that `progress` knows of. */
  readonly seq: number
  readonly progress: Progress
  readonly ended: boolean
}

export interface StoredApprovalCard {
  readonly approvalId: ApprovalId
  readonly taskId: TaskId
  readonly summary: ApprovalSummary
  readonly messageId: string | undefined
  readonly state: "pending" | ResolvedState
}

type Advance = Pick<Follow, "messageId" | "cardTried" | "runId" | "seq" | "progress" | "ended">

interface Row {
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

const followOf = (row: Row): Follow => ({
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
  progress: JSON.parse(row.progress) as Progress,
  ended: row.ended
})

interface CardRow {
  readonly approval_id: ApprovalId
  readonly task_id: TaskId
  readonly asked: string
  readonly message_id: string | null
  readonly state: StoredApprovalCard["state"]
}

const cardOf = (row: CardRow): StoredApprovalCard => ({
  approvalId: row.approval_id,
  taskId: row.task_id,
  // Written by `ask`.
  summary: JSON.parse(row.asked) as ApprovalSummary,
  messageId: row.message_id ?? undefined,
  state: row.state
})

/** Where a chat is. */
export type ChatKey = Omit<ChatAccount, "account"> & { readonly chatId: string }

export class Follows extends Context.Service<
  Follows,
  {
    /** Followed from the beginning; a task that is followed stays as it is. */
    readonly begin: (follow: Omit<Follow, keyof Advance>) => Effect.Effect<void, SqlError.SqlError>
    readonly get: (taskId: TaskId) => Effect.Effect<Follow | undefined, SqlError.SqlError>
    /** Takes what nobody holds, and keeps what `owner` holds; gives all that it holds then. */
    readonly lease: (owner: string, most: number) => Effect.Effect<ReadonlyArray<Follow>, SqlError.SqlError>
    /** Gives back what `owner` holds. */
    readonly release: (owner: string) => Effect.Effect<void, SqlError.SqlError>
    readonly advance: (taskId: TaskId, state: Advance) => Effect.Effect<void, SqlError.SqlError>
    /** What goes on in a chat, oldest first. */
    readonly openIn: (chat: ChatKey) => Effect.Effect<ReadonlyArray<Follow>, SqlError.SqlError>
    /** An approval that is to be shown; the one that there is already, where it is known. `isNew`: its card was never sent. */
    readonly openCard: (
      card: Omit<StoredApprovalCard, "messageId" | "state">
    ) => Effect.Effect<StoredApprovalCard & { readonly isNew: boolean }, SqlError.SqlError>
    readonly card: (
      approvalId: ApprovalId
    ) => Effect.Effect<StoredApprovalCard | undefined, SqlError.SqlError>
    readonly setCardMessage: (
      approvalId: ApprovalId,
      messageId: string
    ) => Effect.Effect<void, SqlError.SqlError>
    readonly resolveCard: (
      approvalId: ApprovalId,
      state: ResolvedState
    ) => Effect.Effect<void, SqlError.SqlError>
    /** Approvals of a task whose cards still ask. */
    readonly pendingApprovals: (taskId: TaskId) => Effect.Effect<ReadonlyArray<ApprovalId>, SqlError.SqlError>
    /** What waits for a decision in a chat, oldest first. */
    readonly pendingCards: (
      chat: ChatKey
    ) => Effect.Effect<ReadonlyArray<StoredApprovalCard>, SqlError.SqlError>
    /** Forgets what ended a month ago. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Follows") {
  static readonly layer = Layer.effect(
    Follows,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const at = (millis = 0) => new Date(clock.currentTimeMillisUnsafe() + millis)
      const columns = sql.literal(
        `task_id, platform, app, tenant, account, chat_id, reply_to, thread_id, direct, language, place, message_id,
         card_tried, run_id, seq::float8 AS seq, progress, ended_at IS NOT NULL AS ended`
      )
      const inChat = ({ app, chatId, platform, tenant }: ChatKey) =>
        sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND chat_id = ${chatId}`
      const oneCard = (approvalId: ApprovalId) =>
        Effect.map(
          sql<CardRow>`SELECT approval_id, task_id, asked, message_id, state FROM approval_cards
            WHERE approval_id = ${approvalId}`,
          ([row]) => (row === undefined ? undefined : cardOf(row))
        )

      return Follows.of({
        begin: ({ account, chatId, direct, language, place, replyTo, taskId, threadId }) => {
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
            progress: JSON.stringify(begun),
            created_at: at()
          }
          return Effect.asVoid(sql`INSERT INTO follows ${sql.insert(row)} ON CONFLICT DO NOTHING`)
        },
        get: (taskId) =>
          Effect.map(sql<Row>`SELECT ${columns} FROM follows WHERE task_id = ${taskId}`, ([row]) =>
            row === undefined ? undefined : followOf(row)
          ),
        lease: (owner, most) =>
          Effect.map(
            sql<Row>`
              UPDATE follows SET lease_owner = ${owner}, lease_until = ${at(FOLLOW_LEASE_MS)}
              WHERE task_id IN (
                SELECT task_id FROM follows
                WHERE ended_at IS NULL AND (lease_owner = ${owner} OR lease_until IS NULL OR lease_until < ${at()})
                ORDER BY lease_owner = ${owner} DESC NULLS LAST, created_at LIMIT ${most}
                FOR UPDATE SKIP LOCKED
              ) RETURNING ${columns}`,
            (rows) => rows.map(followOf)
          ),
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
            sql<Row>`SELECT ${columns} FROM follows
              WHERE ${inChat(chat)} AND ended_at IS NULL ORDER BY created_at LIMIT 100`,
            (rows) => rows.map(followOf)
          ),
        openCard: Effect.fnUntraced(function* ({ approvalId, summary, taskId }) {
          const row = {
            approval_id: approvalId,
            task_id: taskId,
            asked: JSON.stringify(summary),
            state: "pending",
            asked_at: at()
          }
          const made = yield* sql`
            INSERT INTO approval_cards ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING approval_id`
          const card = yield* oneCard(approvalId)
          const isNew = made.length > 0
          return {
            ...(card ?? { approvalId, summary, taskId, messageId: undefined, state: "pending" }),
            isNew
          }
        }),
        card: oneCard,
        setCardMessage: (approvalId, messageId) =>
          Effect.asVoid(
            sql`UPDATE approval_cards SET message_id = ${messageId} WHERE approval_id = ${approvalId}`
          ),
        resolveCard: (approvalId, state) =>
          Effect.asVoid(sql`UPDATE approval_cards SET state = ${state} WHERE approval_id = ${approvalId}`),
        pendingApprovals: (taskId) =>
          Effect.map(
            sql<Pick<CardRow, "approval_id">>`
              SELECT approval_id FROM approval_cards WHERE task_id = ${taskId} AND state = 'pending'`,
            (rows) => rows.map(({ approval_id }) => approval_id)
          ),
        pendingCards: (chat) =>
          Effect.map(
            sql<CardRow>`
              SELECT approval_id, c.task_id, asked, c.message_id, state
              FROM approval_cards c JOIN follows USING (task_id)
              WHERE ${inChat(chat)} AND ended_at IS NULL AND state = 'pending' ORDER BY asked_at LIMIT 100`,
            (rows) => rows.map(cardOf)
          ),
        deleteOld: Effect.suspend(() =>
          Effect.asVoid(sql`DELETE FROM follows WHERE ended_at < ${at(-30 * DAY_MS)}`)
        )
      })
    })
  )
}
