/**
 * Bindings of chat accounts to users. Each action from a chat looks its binding up.
 *
 * Guarantees: a binding is invalid while its user has not signed in at the identity provider for 90 days. `ChatLinks` creates bindings.
 */
import {
  BindingState,
  type BindingUpdates,
  MAX_BINDING_UPDATES,
  type NextBindingUpdates
} from "@corral/domain/chat/ChatAccount"
import { ChatAccount, type ChatBinding } from "@corral/domain/chat/ChatAccount"
import { BindingRequired, PermissionDenied } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import { ChatBindingId, type EventId, type UserId } from "@corral/domain/identity/Ids"
import { mint, derivedId } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { limitTo } from "../store/ListPage.ts"
import { notify } from "../store/Notices.ts"
import { storedRows, Timestamp } from "../store/StoredRows.ts"
import {
  accountCondition,
  activeBindingRows,
  bindingOf,
  type BindingOwnerRow,
  bindingOwnerRows,
  CHAT_BINDING_COLUMNS,
  chatBindingRows
} from "./ChatRows.ts"

/** Milliseconds after the last sign-in of the user. */
const VALID_FOR = 90 * 86_400_000

/** Refusal for an account without a valid binding. */
export const accountNotBound = () => new BindingRequired({ details: { reason: "not_bound" } })

interface BoundPrincipal extends Principal {
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
const lastValidSignIn = (clock: Clock.Clock) => new Date(clock.currentTimeMillisUnsafe() - VALID_FOR)

/** Subject of the identity provider. */
interface Subject {
  readonly issuer: string
  readonly subject: string
}

const updateRows = storedRows(
  "chat_bindings",
  Schema.Struct({ id: ChatBindingId, ...ChatAccount.fields, state: BindingState, at: Timestamp })
)

const updateOf = ({
  at,
  id,
  state,
  ...account
}: Effect.Success<ReturnType<typeof updateRows.all>>[number]) => {
  const createdAt = at.toISOString()
  const key = `${id}:${state}:${createdAt}`
  return {
    bindingId: id,
    event: {
      id: derivedId<EventId>("evt", at.getTime(), key),
      type: "identity.binding.updated" as const,
      key,
      createdAt,
      payload: { v: 1 as const, account, state }
    }
  }
}

/**
 * Updates of bindings for Gateways. The column `reported` has the last state that a Gateway has received; an update is a binding in another state.
 *
 * Guarantees: no change of a binding needs to record an update, so none is lost: of a sign-in at the identity provider, of its end, or of time. Of several changes between
 * two requests, the last one is delivered. Does not: name users.
 */
export class ChatBindingUpdates extends Context.Service<
  ChatBindingUpdates,
  {
    /** Notes what the Gateway of a bot has received, and returns what it has not, at most `MAX_BINDING_UPDATES`. */
    readonly next: (request: NextBindingUpdates) => Effect.Effect<BindingUpdates, SqlError.SqlError>
  }
>()("corral/hub/ChatBindingUpdates") {
  static readonly layer = Layer.effect(
    ChatBindingUpdates,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return ChatBindingUpdates.of({
        next: Effect.fn("ChatBindings.next")(function* ({ app, delivered, platform }) {
          if (delivered.length > 0)
            yield* sql`
              UPDATE chat_bindings SET reported = received.state
              FROM unnest(${delivered.map(({ bindingId }) => bindingId)}::text[], ${delivered.map(({ state }) => state)}::text[])
                AS received (id, state)
              WHERE chat_bindings.id = received.id AND platform = ${platform} AND app = ${app}`
          const signedInAfter = lastValidSignIn(clock)
          const rows = yield* updateRows.all(sql`
            SELECT id, platform, app, tenant, account, state, at FROM (
              SELECT b.id, platform, app, tenant, account, reported, CASE
                WHEN ended_at IS NOT NULL THEN 'unlinked' WHEN signed_in_at <= ${signedInAfter} THEN 'suspended' ELSE 'linked'
              END AS state, CASE
                WHEN ended_at IS NOT NULL THEN ended_at WHEN signed_in_at <= ${signedInAfter}
                THEN signed_in_at + make_interval(secs => ${VALID_FOR / 1_000}) ELSE GREATEST(b.created_at, signed_in_at)
              END AS at
              FROM chat_bindings b JOIN users u ON u.id = user_id
              WHERE platform = ${platform} AND app = ${app} AND reported IS DISTINCT FROM 'unlinked'
            ) AS bindings WHERE state IS DISTINCT FROM reported ORDER BY at, id LIMIT ${MAX_BINDING_UPDATES}`)
          return { items: rows.map(updateOf) }
        })
      })
    })
  )
}
