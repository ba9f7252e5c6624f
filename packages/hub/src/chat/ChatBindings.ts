/**
 * Chat accounts that act as people: whose an account is, looked up each time somebody acts through it, and its end.
 *
 * A binding is worth nothing where its person has not signed in at the identity provider for 90 days, and something again when they have.
 * How a binding comes about is the matter of `ChatLinks`.
 */
import type { ChatAccount, ChatBinding } from "@corral/domain/chat/ChatAccount"
import { BindingRequired, PermissionDenied } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ChatBindingId, UserId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { limitTo } from "../store/Limit.ts"
import { notify } from "../store/Notice.ts"
import { ofAccount } from "./AccountRow.ts"

/** Milliseconds after a person's last sign-in. */
const WORTH = 90 * 86_400_000

/** That an account does not act as anybody. */
export const notBound = () => new BindingRequired({ details: { reason: "not_bound" } })

export interface BoundPrincipal extends Principal {
  readonly kind: "chat"
}

export class ChatBindings extends Context.Service<
  ChatBindings,
  {
    /** As whom the account acts now. */
    readonly find: (account: ChatAccount) => Effect.Effect<BoundPrincipal | undefined, SqlError.SqlError>
    /** Whether it is worth something now. */
    readonly lives: (id: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** At most `limit` of a person's own after that id. */
    readonly list: (
      userId: UserId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ChatBinding>, SqlError.SqlError>
    /** Ends a binding of that person's own, and what is live of it. */
    readonly remove: (
      userId: UserId,
      id: ChatBindingId
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    /** Ends the account's binding; gives whose it was. */
    readonly unbind: (
      account: ChatAccount
    ) => Effect.Effect<{ readonly id: string; readonly userId: UserId }, BindingRequired | SqlError.SqlError>
    /** Ends all bindings of a subject of the identity provider; gives how many those were. */
    readonly endOf: (subject: {
      readonly issuer: string
      readonly subject: string
    }) => Effect.Effect<number, SqlError.SqlError>
    /** Ends a binding of the account that is worth nothing any more, so that another may take its place. */
    readonly endStale: (account: ChatAccount) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/ChatBindings") {
  static readonly layer = Layer.effect(
    ChatBindings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())
      /** Of whoever has signed in since, a binding is worth something. */
      const since = () => new Date(clock.currentTimeMillisUnsafe() - WORTH)

      /** Part of the transaction that ended them: whoever holds a stream of one hears of it. */
      const tell = (rows: ReadonlyArray<Ended>) =>
        Effect.forEach(rows, ({ id }) => notify(sql, "signInEnded", id), { discard: true })

      /** Ended by nobody who asked for it. */
      const recordEnd = Effect.fnUntraced(function* ({ id }: Ended) {
        const given = yield* Effect.serviceOption(CurrentRequestId)
        yield* audit.record({
          action: "chat.unbind",
          actor: "system",
          resource: id,
          projectId: null,
          outcome: "allowed",
          code: null,
          requestId: Option.getOrElse(given, () => mint("req", clock.currentTimeMillisUnsafe()))
        })
      })

      return ChatBindings.of({
        find: Effect.fnUntraced(function* (account) {
          const [row] = yield* sql<Ended & { readonly signed_in_at: Date }>`
            SELECT b.id, user_id, signed_in_at FROM chat_bindings b JOIN users u ON u.id = user_id
            WHERE ${ofAccount(sql, account)} AND ended_at IS NULL AND signed_in_at > ${since()}`
          return (
            row && {
              kind: "chat",
              userId: row.user_id,
              signInId: row.id,
              expiresAt: new Date(row.signed_in_at.getTime() + WORTH)
            }
          )
        }),

        lives: (id) =>
          Effect.suspend(
            () => sql`
              SELECT 1 FROM chat_bindings b JOIN users u ON u.id = user_id
              WHERE b.id = ${id} AND ended_at IS NULL AND signed_in_at > ${since()}`
          ).pipe(Effect.map((rows) => rows.length > 0)),

        list: (userId, after, limit) =>
          sql<Row>`
            SELECT id, platform, app, tenant, account, name, created_at FROM chat_bindings
            WHERE user_id = ${userId} AND ended_at IS NULL ${after === undefined ? sql`` : sql`AND id > ${after}`}
            ORDER BY id ${limitTo(sql, limit)}`.pipe(Effect.map((rows) => rows.map(bindingOf))),

        remove: Effect.fnUntraced(function* (userId, id) {
          const ended = yield* sql<Ended>`
            UPDATE chat_bindings SET ended_at = ${now()}
            WHERE id = ${id} AND user_id = ${userId} AND ended_at IS NULL RETURNING id, user_id`
          if (ended.length === 0) return yield* new PermissionDenied()
          yield* tell(ended)
        }, sql.withTransaction),

        unbind: Effect.fnUntraced(function* (account) {
          const ended = yield* sql<Ended>`
            UPDATE chat_bindings SET ended_at = ${now()}
            WHERE ${ofAccount(sql, account)} AND ended_at IS NULL RETURNING id, user_id`
          yield* tell(ended)
          const [row] = ended
          return row === undefined ? yield* notBound() : { id: row.id, userId: row.user_id }
        }, sql.withTransaction),

        endOf: Effect.fnUntraced(function* ({ issuer, subject }) {
          const ended = yield* sql<Ended>`
            UPDATE chat_bindings SET ended_at = ${now()} FROM users
            WHERE users.id = user_id AND ended_at IS NULL AND issuer = ${issuer} AND subject = ${subject}
            RETURNING chat_bindings.id, user_id`
          yield* tell(ended)
          yield* Effect.forEach(ended, recordEnd, { discard: true })
          return ended.length
        }, sql.withTransaction),

        endStale: Effect.fnUntraced(function* (account) {
          const ended = yield* sql<Ended>`
            UPDATE chat_bindings SET ended_at = ${now()} FROM users
            WHERE users.id = user_id AND ${ofAccount(sql, account)} AND ended_at IS NULL
              AND signed_in_at <= ${since()}
            RETURNING chat_bindings.id, user_id`
          yield* Effect.forEach(ended, recordEnd, { discard: true })
        }, sql.withTransaction)
      })
    })
  )
}

interface Ended {
  readonly id: string
  readonly user_id: UserId
}

export interface Row {
  readonly id: ChatBindingId
  readonly platform: string
  readonly app: string
  readonly tenant: string
  readonly account: string
  readonly name: string | null
  readonly created_at: Date
}

export const bindingOf = ({ created_at, name, ...row }: Row): ChatBinding => ({
  id: row.id,
  platform: row.platform,
  app: row.app,
  tenant: row.tenant,
  account: row.account,
  ...(name === null ? {} : { name }),
  createdAt: created_at.toISOString()
})
