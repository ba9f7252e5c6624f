/** Stored approval cards: the message of each, and whether its approval is pending. */
import type { ApprovalId, TaskId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { timedStore, type TimedStore } from "../store/TimedStore.ts"
import type { ApprovalSummary, ResolvedState } from "./ApprovalCard.ts"
import { type ChatKey, isInChat } from "./ChatKey.ts"

const MAX_PENDING = 100

export interface StoredApprovalCard {
  readonly approvalId: ApprovalId
  readonly taskId: TaskId
  readonly summary: ApprovalSummary
  readonly messageId: string | undefined
  readonly state: "pending" | ResolvedState
}

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
  // Written by `open`.
  summary: JSON.parse(row.asked) as ApprovalSummary,
  messageId: row.message_id ?? undefined,
  state: row.state
})

type NewCard = Omit<StoredApprovalCard, "messageId" | "state">

export class ApprovalCardStore extends Context.Service<
  ApprovalCardStore,
  {
    /** Stores a card that will be sent, or returns the stored one. `isNew`: no attempt to send it was made. */
    readonly open: (
      card: NewCard
    ) => Effect.Effect<StoredApprovalCard & { readonly isNew: boolean }, SqlError.SqlError>
    readonly get: (approvalId: ApprovalId) => Effect.Effect<StoredApprovalCard | undefined, SqlError.SqlError>
    readonly setMessage: (approvalId: ApprovalId, messageId: string) => Effect.Effect<void, SqlError.SqlError>
    readonly resolve: (approvalId: ApprovalId, state: ResolvedState) => Effect.Effect<void, SqlError.SqlError>
    /** Pending approvals of a task. */
    readonly pendingOf: (taskId: TaskId) => Effect.Effect<ReadonlyArray<ApprovalId>, SqlError.SqlError>
    /** Pending approvals in a chat, oldest first. */
    readonly pendingIn: (chat: ChatKey) => Effect.Effect<ReadonlyArray<StoredApprovalCard>, SqlError.SqlError>
  }
>()("corral/gateway/ApprovalCardStore") {
  static readonly layer = Layer.effect(
    ApprovalCardStore,
    Effect.map(timedStore, (store) => {
      const { sql } = store
      return ApprovalCardStore.of({
        open: (card) => insertCard(store, card),
        get: (approvalId) => findCard(store, approvalId),
        setMessage: (approvalId, messageId) =>
          Effect.asVoid(
            sql`UPDATE approval_cards SET message_id = ${messageId} WHERE approval_id = ${approvalId}`
          ),
        resolve: (approvalId, state) =>
          Effect.asVoid(sql`UPDATE approval_cards SET state = ${state} WHERE approval_id = ${approvalId}`),
        pendingOf: (taskId) =>
          Effect.map(
            sql<Pick<CardRow, "approval_id">>`
              SELECT approval_id FROM approval_cards WHERE task_id = ${taskId} AND state = 'pending'`,
            (rows) => rows.map(({ approval_id }) => approval_id)
          ),
        pendingIn: (chat) =>
          Effect.map(
            sql<CardRow>`
              SELECT approval_id, c.task_id, asked, c.message_id, state
              FROM approval_cards c JOIN follows USING (task_id)
              WHERE ${isInChat(sql, chat)} AND ended_at IS NULL AND state = 'pending'
              ORDER BY asked_at LIMIT ${MAX_PENDING}`,
            (rows) => rows.map(cardOf)
          )
      })
    })
  )
}

const findCard = ({ sql }: TimedStore, approvalId: ApprovalId) =>
  Effect.map(
    sql<CardRow>`SELECT approval_id, task_id, asked, message_id, state FROM approval_cards
      WHERE approval_id = ${approvalId}`,
    ([row]) => (row === undefined ? undefined : cardOf(row))
  )

const insertCard = Effect.fn("ApprovalCardStore.open")(function* (
  store: TimedStore,
  { approvalId, summary, taskId }: NewCard
) {
  const { at, sql } = store
  const row = {
    approval_id: approvalId,
    task_id: taskId,
    asked: JSON.stringify(summary),
    state: "pending",
    asked_at: at()
  }
  const inserted = yield* sql`
    INSERT INTO approval_cards ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING approval_id`
  const stored = yield* findCard(store, approvalId)
  const card: StoredApprovalCard = stored ?? {
    approvalId,
    summary,
    taskId,
    messageId: undefined,
    state: "pending"
  }
  return { ...card, isNew: inserted.length > 0 }
})
