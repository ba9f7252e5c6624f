/**
 * Stored cards of requests that need a person: approvals, and questions. Each row has the message of the card, and whether its request is pending.
 * One table for each kind of request. Approvals have one kind of row, and questions, forms and plans another.
 */
import { ApprovalId, InputRequestId, type SessionId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { type TimedStore, queryRow, queryRows, timedStore } from "../store/RowQueries.ts"
import { ChatKey, FollowId, isInChat } from "./Follows.ts"
import { ApprovalState } from "@corral/domain/approval/Approval"
import { ApprovalSummary, type ResolvedState } from "./ApprovalCard.ts"
import { InputKind, InputState, type ResolvedInputState } from "@corral/domain/input/InputRequest"

// Stored cards of questions, forms and plans: the message of each, and whether it is open.

/** What a card is about. `isShown`: whether the project's policy allows the agent's texts in this chat. */
export const InputSummary = Schema.Struct({ kind: InputKind, isShown: Schema.Boolean })
export type InputSummary = typeof InputSummary.Type

export type StoredInputCard = RequestCard<InputRequestId, InputSummary, ResolvedInputState>

export class InputCardStore extends Context.Service<
  InputCardStore,
  RequestCardStore<InputRequestId, InputSummary, ResolvedInputState>
>()("corral/gateway/InputCardStore") {
  static readonly layer = Layer.effect(
    InputCardStore,
    Effect.map(timedStore, (store) =>
      InputCardStore.of(
        makeRequestCardStore<InputRequestId, InputSummary, ResolvedInputState>(store, {
          table: "input_cards",
          key: "input_id",
          Id: InputRequestId,
          Summary: InputSummary,
          State: InputState
        })
      )
    )
  )
}

// Stored approval cards: the message of each, and whether its approval is pending.

export type StoredApprovalCard = RequestCard<ApprovalId, ApprovalSummary, ResolvedState>

export class ApprovalCardStore extends Context.Service<
  ApprovalCardStore,
  RequestCardStore<ApprovalId, ApprovalSummary, ResolvedState>
>()("corral/gateway/ApprovalCardStore") {
  static readonly layer = Layer.effect(
    ApprovalCardStore,
    Effect.map(timedStore, (store) =>
      ApprovalCardStore.of(
        makeRequestCardStore<ApprovalId, ApprovalSummary, ResolvedState>(store, {
          table: "approval_cards",
          key: "approval_id",
          Id: ApprovalId,
          Summary: ApprovalSummary,
          State: ApprovalState
        })
      )
    )
  )
}

const MAX_PENDING = 100

export interface RequestCard<Id, Summary, State> {
  readonly id: Id
  readonly followId: FollowId
  /** What an update draws without the Hub. */
  readonly summary: Summary
  /** The message of the card, once it is sent. */
  readonly messageId: string | undefined
  readonly state: State | "pending"
}

export interface RequestCardStore<Id, Summary, State> {
  /** Stores a card that will be sent, or returns the stored one. `isNew`: no attempt to send it was made. */
  readonly open: (
    card: Pick<RequestCard<Id, Summary, State>, "id" | "followId" | "summary">
  ) => Effect.Effect<RequestCard<Id, Summary, State> & { readonly isNew: boolean }, SqlError.SqlError>
  readonly get: (id: Id) => Effect.Effect<RequestCard<Id, Summary, State> | undefined, SqlError.SqlError>
  readonly setMessage: (id: Id, messageId: string) => Effect.Effect<void, SqlError.SqlError>
  readonly resolve: (id: Id, state: State) => Effect.Effect<void, SqlError.SqlError>
  /** Pending requests of a followed message. */
  readonly pendingOf: (followId: FollowId) => Effect.Effect<ReadonlyArray<Id>, SqlError.SqlError>
  /** Pending requests in a chat, oldest first. */
  readonly pendingIn: (
    chat: ChatKey
  ) => Effect.Effect<ReadonlyArray<RequestCard<Id, Summary, State>>, SqlError.SqlError>
  /** Pending requests of a session in a chat, oldest first. */
  readonly pendingInSession: (
    chat: ChatKey,
    session: SessionId
  ) => Effect.Effect<ReadonlyArray<Id>, SqlError.SqlError>
}

export interface CardTable<Id extends string, Summary, State extends string> {
  readonly table: string
  /** Column of the request's id. */
  readonly key: string
  readonly Id: Schema.Codec<Id, string>
  readonly Summary: Schema.Codec<Summary, unknown>
  /** `pending` and the states of `State`. */
  readonly State: Schema.Codec<State | "pending", string>
}

const queriesOf = <Id extends string, Summary, State extends string>(
  { sql }: TimedStore,
  { Id, key, State, Summary, table }: CardTable<Id, Summary, State>
) => {
  const Row = Schema.Struct({
    id: Id,
    follow_id: FollowId,
    asked: Schema.fromJsonString(Summary),
    message_id: Schema.NullOr(Schema.String),
    state: State
  })
  const IdRow = Schema.Struct({ id: Id })
  return {
    find: queryRow({
      Request: Id,
      Result: Row,
      execute: (id) => sql`
        SELECT ${sql(key)} AS id, follow_id, asked, message_id, state FROM ${sql(table)} WHERE ${sql(key)} = ${id}`
    }),
    pendingOf: queryRows({
      Request: FollowId,
      Result: IdRow,
      execute: (followId) => sql`
        SELECT ${sql(key)} AS id FROM ${sql(table)} WHERE follow_id = ${followId} AND state = 'pending'`
    }),
    pendingIn: queryRows({
      Request: ChatKey,
      Result: Row,
      execute: (chat) => sql`
        SELECT ${sql(key)} AS id, follow_id, asked, c.message_id, state
        FROM ${sql(table)} c JOIN follows f ON f.id = c.follow_id
        WHERE ${isInChat(sql, chat)} AND ended_at IS NULL AND state = 'pending'
        ORDER BY asked_at LIMIT ${MAX_PENDING}`
    }),
    pendingInSession: queryRows({
      Request: Schema.Struct({ ...ChatKey.fields, session: Schema.String }),
      Result: IdRow,
      execute: ({ session, ...chat }) => sql`
        SELECT ${sql(key)} AS id FROM ${sql(table)} c JOIN follows f ON f.id = c.follow_id
        WHERE session_id = ${session} AND ${isInChat(sql, chat)} AND ended_at IS NULL AND state = 'pending'
        ORDER BY asked_at LIMIT ${MAX_PENDING}`
    })
  }
}

export const makeRequestCardStore = <Id extends string, Summary, State extends string>(
  store: TimedStore,
  kind: CardTable<Id, Summary, State>
): RequestCardStore<Id, Summary, State> => {
  const { at, sql } = store
  const { key, Summary, table } = kind
  const encodeSummary = Schema.encodeSync(Schema.fromJsonString(Summary))
  const { find, pendingIn, pendingInSession, pendingOf } = queriesOf(store, kind)
  const cardOf = (row: Effect.Success<ReturnType<typeof pendingIn>>[number]) => ({
    id: row.id,
    followId: row.follow_id,
    summary: row.asked,
    messageId: row.message_id ?? undefined,
    state: row.state
  })
  const get = Effect.fn("RequestCardStore.get")(function* (id: Id) {
    const row = yield* find(id)
    return row === undefined ? undefined : cardOf(row)
  })
  return {
    get,
    open: Effect.fn("RequestCardStore.open")(function* (card) {
      const { followId, id, summary } = card
      const row = {
        [key]: id,
        follow_id: followId,
        asked: encodeSummary(summary),
        state: "pending",
        asked_at: at()
      }
      const inserted = yield* sql`
        INSERT INTO ${sql(table)} ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING ${sql(key)}`
      const stored = yield* get(id)
      const pending = { ...card, messageId: undefined, state: "pending" } as const
      return { ...(stored ?? pending), isNew: inserted.length > 0 }
    }),
    setMessage: Effect.fn("RequestCardStore.setMessage")(function* (id, messageId) {
      yield* sql`UPDATE ${sql(table)} SET message_id = ${messageId} WHERE ${sql(key)} = ${id}`
    }),
    resolve: Effect.fn("RequestCardStore.resolve")(function* (id, state) {
      yield* sql`UPDATE ${sql(table)} SET state = ${state} WHERE ${sql(key)} = ${id}`
    }),
    pendingOf: Effect.fn("RequestCardStore.pendingOf")(function* (followId) {
      return (yield* pendingOf(followId)).map(({ id }) => id)
    }),
    pendingIn: Effect.fn("RequestCardStore.pendingIn")(function* (chat) {
      return (yield* pendingIn(chat)).map(cardOf)
    }),
    pendingInSession: Effect.fn("RequestCardStore.pendingInSession")(function* (chat, session) {
      const { app, chatId, platform, tenant } = chat
      return (yield* pendingInSession({ app, chatId, platform, tenant, session })).map(({ id }) => id)
    })
  }
}
