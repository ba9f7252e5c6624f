/**
 * Updates of bindings for Gateways. The column `reported` has the last state that a Gateway has received; an update is a binding in another state.
 *
 * Guarantees: no change of a binding needs to record an update, so none is lost: of a sign-in at the identity provider, of its end, or of time. Of several changes between
 * two requests, the last one is delivered. Does not: name users.
 */
import {
  BindingState,
  type BindingUpdates,
  ChatAccount,
  MAX_BINDING_UPDATES,
  type NextBindingUpdates
} from "@corral/domain/chat/ChatAccount"
import { ChatBindingId, type EventId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { derivedId } from "../store/DerivedId.ts"
import { storedRows, Timestamp } from "../store/StoredRows.ts"
import { lastValidSignIn, VALID_FOR } from "./ChatBindings.ts"

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
        next: Effect.fn("BindingUpdates.next")(function* ({ app, delivered, platform }) {
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
