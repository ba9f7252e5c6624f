/** Stored approval cards: the message of each, and whether its approval is pending. */
import { ApprovalId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { queryRow, queryRows } from "../store/RowQueries.ts"
import { timedStore, type TimedStore } from "../store/TimedStore.ts"
import type { ResolvedState } from "./ApprovalCard.ts"
import { approvalCardOf, ApprovalCardRow, encodeSummary, type StoredApprovalCard } from "./ApprovalCardRow.ts"
import { ChatKey, isInChat } from "./ChatKey.ts"
import { FollowId } from "./FollowRow.ts"

const MAX_PENDING = 100

type NewApprovalCard = Omit<StoredApprovalCard, "messageId" | "state">

export class ApprovalCardStore extends Context.Service<
  ApprovalCardStore,
  {
    /** Stores a card that will be sent, or returns the stored one. `isNew`: no attempt to send it was made. */
    readonly open: (
      card: NewApprovalCard
    ) => Effect.Effect<StoredApprovalCard & { readonly isNew: boolean }, SqlError.SqlError>
    readonly get: (approvalId: ApprovalId) => Effect.Effect<StoredApprovalCard | undefined, SqlError.SqlError>
    readonly setMessage: (approvalId: ApprovalId, messageId: string) => Effect.Effect<void, SqlError.SqlError>
    readonly resolve: (approvalId: ApprovalId, state: ResolvedState) => Effect.Effect<void, SqlError.SqlError>
    /** Pending approvals of a followed message. */
    readonly pendingOf: (followId: FollowId) => Effect.Effect<ReadonlyArray<ApprovalId>, SqlError.SqlError>
    /** Pending approvals in a chat, oldest first. */
    readonly pendingIn: (chat: ChatKey) => Effect.Effect<ReadonlyArray<StoredApprovalCard>, SqlError.SqlError>
  }
>()("corral/gateway/ApprovalCardStore") {
  static readonly layer = Layer.effect(
    ApprovalCardStore,
    Effect.map(timedStore, (store) => {
      const { at, sql } = store
      const { find, pendingIn, pendingOf } = makeCardQueries(store)
      const findCard = (approvalId: ApprovalId) =>
        Effect.map(find(approvalId), (row) => (row === undefined ? undefined : approvalCardOf(row)))
      return ApprovalCardStore.of({
        open: Effect.fn("ApprovalCardStore.open")(function* (card) {
          const { approvalId, followId, summary } = card
          const row = {
            approval_id: approvalId,
            follow_id: followId,
            asked: encodeSummary(summary),
            state: "pending",
            asked_at: at()
          }
          const inserted = yield* sql`
            INSERT INTO approval_cards ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING approval_id`
          const stored = yield* findCard(approvalId)
          const pending = { ...card, messageId: undefined, state: "pending" } as const
          return { ...(stored ?? pending), isNew: inserted.length > 0 }
        }),
        get: Effect.fn("ApprovalCardStore.get")(findCard),
        setMessage: Effect.fn("ApprovalCardStore.setMessage")(function* (approvalId, messageId) {
          yield* sql`UPDATE approval_cards SET message_id = ${messageId} WHERE approval_id = ${approvalId}`
        }),
        resolve: Effect.fn("ApprovalCardStore.resolve")(function* (approvalId, state) {
          yield* sql`UPDATE approval_cards SET state = ${state} WHERE approval_id = ${approvalId}`
        }),
        pendingOf: Effect.fn("ApprovalCardStore.pendingOf")(function* (followId) {
          return (yield* pendingOf(followId)).map(({ approval_id }) => approval_id)
        }),
        pendingIn: Effect.fn("ApprovalCardStore.pendingIn")(function* (chat) {
          return (yield* pendingIn(chat)).map(approvalCardOf)
        })
      })
    })
  )
}

const makeCardQueries = ({ sql }: TimedStore) => ({
  find: queryRow({
    Request: ApprovalId,
    Result: ApprovalCardRow,
    execute: (approvalId) => sql`
      SELECT approval_id, follow_id, asked, message_id, state FROM approval_cards
      WHERE approval_id = ${approvalId}`
  }),
  pendingOf: queryRows({
    Request: FollowId,
    Result: Schema.Struct({ approval_id: ApprovalId }),
    execute: (followId) => sql`
      SELECT approval_id FROM approval_cards WHERE follow_id = ${followId} AND state = 'pending'`
  }),
  pendingIn: queryRows({
    Request: ChatKey,
    Result: ApprovalCardRow,
    execute: (chat) => sql`
      SELECT approval_id, follow_id, asked, c.message_id, state
      FROM approval_cards c JOIN follows f ON f.id = c.follow_id
      WHERE ${isInChat(sql, chat)} AND ended_at IS NULL AND state = 'pending'
      ORDER BY asked_at LIMIT ${MAX_PENDING}`
  })
})
