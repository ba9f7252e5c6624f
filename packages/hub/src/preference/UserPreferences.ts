/**
 * Preferences of users: the table `preferences`, one document per user with its version.
 *
 * Guarantees: concurrent changes are merged one after the other; a change for an older version changes nothing. Fields that this Hub does not have,
 * of a newer Hub on the same database, stay. Does not: audit: a preference changes nothing for others.
 */
import { Conflict, PayloadTooLarge } from "@corral/domain/errors/Failures"
import type { UserId } from "@corral/domain/identity/Ids"
import { mergedFields } from "@corral/domain/preference/ChangedPreferences"
import {
  MAX_PREFERENCES_BYTES,
  type Preferences,
  readableFields,
  type UpdatePreferences
} from "@corral/domain/preference/Preferences"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { notify } from "../store/Notices.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

const preferenceRows = storedRows(
  "preferences",
  Schema.Struct({ version: Schema.Int, document: jsonColumn(Schema.Record(Schema.String, Schema.Unknown)) })
)
type StoredPreferences = NonNullable<Effect.Success<ReturnType<typeof preferenceRows.first>>>

const preferencesOf = ({ document, version }: StoredPreferences): Preferences => ({
  version,
  ...readableFields(document)
})

export class UserPreferences extends Context.Service<
  UserPreferences,
  {
    readonly get: (userId: UserId) => Effect.Effect<Preferences, SqlError.SqlError>
    readonly update: (
      userId: UserId,
      changes: UpdatePreferences
    ) => Effect.Effect<Preferences, Conflict | PayloadTooLarge | SqlError.SqlError>
  }
>()("corral/hub/UserPreferences") {
  static readonly layer = Layer.effect(
    UserPreferences,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const none: StoredPreferences = { version: 0, document: {} }

      const locked = Effect.fnUntraced(function* (userId: UserId) {
        yield* sql`
          INSERT INTO preferences (user_id, version, document) VALUES (${userId}, 0, '{}') ON CONFLICT (user_id) DO NOTHING`
        return (
          (yield* preferenceRows.first(
            sql`SELECT version, document FROM preferences WHERE user_id = ${userId} FOR UPDATE`
          )) ?? none
        )
      })

      return UserPreferences.of({
        get: Effect.fn("UserPreferences.get")(function* (userId) {
          const stored = yield* preferenceRows.first(
            sql`SELECT version, document FROM preferences WHERE user_id = ${userId}`
          )
          return preferencesOf(stored ?? none)
        }),

        update: Effect.fn("UserPreferences.update")(
          function* (userId, { version, ...changes }) {
            const stored = yield* locked(userId)
            const present = preferencesOf(stored)
            if (version !== undefined && version !== stored.version)
              return yield* new Conflict({
                message: "Your preferences were changed in the meantime.",
                details: { preferences: present }
              })
            const document = mergedFields(stored.document, changes)
            const text = JSON.stringify(document)
            const bytes = Buffer.byteLength(text)
            if (bytes > MAX_PREFERENCES_BYTES)
              return yield* new PayloadTooLarge({
                message: "These preferences are too large.",
                details: { bytes, maxBytes: MAX_PREFERENCES_BYTES }
              })
            if (text === JSON.stringify(stored.document)) return present
            const changed = { version: stored.version + 1, document }
            yield* sql`
              UPDATE preferences SET version = ${changed.version}, document = ${text} WHERE user_id = ${userId}`
            yield* notify(sql, "preferences", userId)
            return preferencesOf(changed)
          },
          (effect) => sql.withTransaction(effect)
        )
      })
    })
  )
}
