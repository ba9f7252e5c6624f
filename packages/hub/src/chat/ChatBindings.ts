/**
 * Bindings of chat accounts to users. Each action from a chat looks its binding up.
 *
 * Guarantees: a binding is invalid while its user has not signed in at the identity provider for 90 days. `ChatLinks` creates bindings.
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
import { limitTo } from "../store/ListPage.ts"
import { notify } from "../store/Notice.ts"
import {
  type BindingOwnerRow,
  CHAT_BINDING_COLUMNS,
  accountCondition,
  activeBindingRows,
  bindingOf,
  bindingOwnerRows,
  chatBindingRows
} from "./ChatRows.ts"

/** Milliseconds after the last sign-in of the user. */
export const VALID_FOR = 90 * 86_400_000

/** Refusal for an account without a valid binding. */
export const accountNotBound = () => new BindingRequired({ details: { reason: "not_bound" } })

export interface BoundPrincipal extends Principal {
  readonly kind: "chat"
}

export class ChatBindings extends Context.Service<
  ChatBindings,
  {
    /** The user as whom the account acts now. */
    readonly find: (account: ChatAccount) => Effect.Effect<BoundPrincipal | undefined, SqlError.SqlError>
    /** Whether a binding is valid now. */
    readonly isValid: (id: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** Bindings of a user after an id, at most `limit`. */
    readonly list: (
      userId: UserId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ChatBinding>, SqlError.SqlError>
    /** Ends a binding of the user, and its sockets. */
    readonly remove: (
      userId: UserId,
      id: ChatBindingId
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    /** Ends the binding of an account; returns its id and user. */
    readonly unbind: (
      account: ChatAccount
    ) => Effect.Effect<{ readonly id: string; readonly userId: UserId }, BindingRequired | SqlError.SqlError>
    /** Ends all bindings of a subject of the identity provider; returns their number. */
    readonly endOf: (subject: Subject) => Effect.Effect<number, SqlError.SqlError>
    /** Ends an invalid binding of the account, so that a new one can replace it. */
    readonly endStale: (account: ChatAccount) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/ChatBindings") {
  static readonly layer = Layer.effect(
    ChatBindings,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const endings = yield* makeEndings

      return ChatBindings.of({
        // Untraced: runs for every request of a Gateway.
        find: Effect.fnUntraced(function* (account) {
          const row = yield* activeBindingRows.first(sql`
            SELECT b.id, user_id, signed_in_at FROM chat_bindings b JOIN users u ON u.id = user_id
            WHERE ${accountCondition(sql, account)} AND ended_at IS NULL AND signed_in_at > ${lastValidSignIn(clock)}`)
          return (
            row && {
              kind: "chat",
              userId: row.user_id,
              signInId: row.id,
              expiresAt: new Date(row.signed_in_at.getTime() + VALID_FOR)
            }
          )
        }),

        isValid: Effect.fn("ChatBindings.isValid")(function* (id) {
          const found = yield* sql`
            SELECT 1 FROM chat_bindings b JOIN users u ON u.id = user_id
            WHERE b.id = ${id} AND ended_at IS NULL AND signed_in_at > ${lastValidSignIn(clock)}`
          return found.length > 0
        }),

        list: Effect.fn("ChatBindings.list")(function* (userId, after, limit) {
          const rows = yield* chatBindingRows.all(sql`
            SELECT ${sql.literal(CHAT_BINDING_COLUMNS)} FROM chat_bindings
            WHERE user_id = ${userId} AND ended_at IS NULL ${after === undefined ? sql`` : sql`AND id > ${after}`}
            ORDER BY id ${limitTo(sql, limit)}`)
          return rows.map(bindingOf)
        }),

        ...endings
      })
    })
  )
}

/** The ways in which bindings end. Each runs in a transaction with the notice to sockets. */
const makeEndings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit
  const clock = yield* Clock.Clock
  const now = () => new Date(clock.currentTimeMillisUnsafe())

  const notifySockets = (rows: ReadonlyArray<BindingOwnerRow>) =>
    notify(sql, "signInEnded", ...rows.map(({ id }) => id))

  /** Records an end that no user requested. */
  const recordEnd = Effect.fnUntraced(function* ({ id }: BindingOwnerRow) {
    const requestId = yield* Effect.serviceOption(CurrentRequestId)
    yield* audit.record({
      action: "chat.unbind",
      actor: "system",
      resource: id,
      projectId: null,
      outcome: "allowed",
      code: null,
      requestId: Option.getOrElse(requestId, () => mint("req", clock.currentTimeMillisUnsafe()))
    })
  })

  return {
    remove: Effect.fn("ChatBindings.remove")(function* (userId: UserId, id: ChatBindingId) {
      const ended = yield* bindingOwnerRows.all(sql`
        UPDATE chat_bindings SET ended_at = ${now()}
        WHERE id = ${id} AND user_id = ${userId} AND ended_at IS NULL RETURNING id, user_id`)
      if (ended.length === 0) return yield* new PermissionDenied()
      yield* notifySockets(ended)
    }, sql.withTransaction),

    unbind: Effect.fn("ChatBindings.unbind")(function* (account: ChatAccount) {
      const ended = yield* bindingOwnerRows.all(sql`
        UPDATE chat_bindings SET ended_at = ${now()}
        WHERE ${accountCondition(sql, account)} AND ended_at IS NULL RETURNING id, user_id`)
      yield* notifySockets(ended)
      const [row] = ended
      return row === undefined ? yield* accountNotBound() : { id: row.id, userId: row.user_id }
    }, sql.withTransaction),

    endOf: Effect.fn("ChatBindings.endOf")(function* ({ issuer, subject }: Subject) {
      const ended = yield* bindingOwnerRows.all(sql`
        UPDATE chat_bindings SET ended_at = ${now()} FROM users
        WHERE users.id = user_id AND ended_at IS NULL AND issuer = ${issuer} AND subject = ${subject}
        RETURNING chat_bindings.id, user_id`)
      yield* notifySockets(ended)
      yield* Effect.forEach(ended, recordEnd, { discard: true })
      return ended.length
    }, sql.withTransaction),

    endStale: Effect.fn("ChatBindings.endStale")(function* (account: ChatAccount) {
      const ended = yield* bindingOwnerRows.all(sql`
        UPDATE chat_bindings SET ended_at = ${now()} FROM users
        WHERE users.id = user_id AND ${accountCondition(sql, account)} AND ended_at IS NULL
          AND signed_in_at <= ${lastValidSignIn(clock)}
        RETURNING chat_bindings.id, user_id`)
      yield* Effect.forEach(ended, recordEnd, { discard: true })
    }, sql.withTransaction)
  }
})

/** Bindings of users who signed in later than this are valid. */
export const lastValidSignIn = (clock: Clock.Clock) => new Date(clock.currentTimeMillisUnsafe() - VALID_FOR)

/** Subject of the identity provider. */
interface Subject {
  readonly issuer: string
  readonly subject: string
}
