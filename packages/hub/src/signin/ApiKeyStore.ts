/** API keys of users, with scopes and an expiry. The database has only their hashes. */
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import {
  type ApiKey,
  ApiKeyScope,
  type CreateApiKey,
  type IssuedApiKey
} from "@corral/domain/identity/ApiKey"
import { ApiKeyId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema, SchemaTransformation } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { notify } from "../store/Notices.ts"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import { newToken, purposeOf, tokenHash } from "./SessionToken.ts"

/** Scopes, separated by spaces. */
const Scopes = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(" "),
      encode: (scopes) => scopes.join(" ")
    })
  ),
  Schema.decodeTo(Schema.Array(ApiKeyScope))
)

const ApiKeyRow = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  scopes: Scopes,
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: Schema.NullOr(Timestamp)
})

const API_KEY_COLUMNS = Object.keys(ApiKeyRow.fields).join(", ")

const apiKeyRows = storedRows("api_keys", ApiKeyRow)
const ownedApiKeyRows = storedRows("api_keys", Schema.Struct({ ...ApiKeyRow.fields, user_id: UserId }))
const apiKeyCountRows = storedRows("api_keys", Schema.Struct({ count: Schema.Int }))

const apiKeyOf = ({
  created_at,
  expires_at,
  id,
  last_used_at,
  name,
  scopes
}: typeof ApiKeyRow.Type): ApiKey => ({
  id,
  name,
  scopes,
  createdAt: created_at.toISOString(),
  expiresAt: expires_at.toISOString(),
  ...(last_used_at === null ? {} : { lastUsedAt: last_used_at.toISOString() })
})

/** Principal of a request with an API key. */
export interface ActiveApiKey extends Principal {
  readonly kind: "key"
  readonly scopes: ReadonlyArray<ApiKeyScope>
}

/** Keys that a user can have at the same time. */
const MAX_KEYS = 100
const DAY = 86_400_000
/** Uses are stored at most this often, in milliseconds. */
const USE_STORED_EVERY = 60_000

export class ApiKeyStore extends Context.Service<
  ApiKeyStore,
  {
    readonly create: (
      userId: UserId,
      request: CreateApiKey
    ) => Effect.Effect<IssuedApiKey, Conflict | SqlError.SqlError>
    /** Keys in the order of their ids, including expired ones. */
    readonly list: (
      userId: UserId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ApiKey>, SqlError.SqlError>
    readonly remove: (
      userId: UserId,
      id: ApiKeyId
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    /** The key of a valid token. */
    readonly find: (token: string) => Effect.Effect<ActiveApiKey | undefined, SqlError.SqlError>
    /** Whether a key is valid now. The check does not count as a use. */
    readonly isValid: (id: string) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("corral/hub/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeyStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())
      const columns = sql.literal(API_KEY_COLUMNS)

      return ApiKeyStore.of({
        create: Effect.fn("ApiKeyStore.create")(function* (userId, { expiresInDays, name, scopes }) {
          const at = now()
          const keys = yield* apiKeyCountRows.first(
            sql`SELECT count(*)::int AS count FROM api_keys WHERE user_id = ${userId} AND revoked_at IS NULL`
          )
          if ((keys?.count ?? 0) >= MAX_KEYS)
            return yield* new Conflict({
              message: `You can't have more than ${MAX_KEYS} keys. Remove one first.`
            })
          const token = newToken("key")
          const row = {
            id: mint<ApiKeyId>("key", at.getTime()),
            name,
            scopes: [...new Set(scopes)],
            created_at: at,
            expires_at: new Date(at.getTime() + expiresInDays * DAY),
            last_used_at: null
          }
          const stored = {
            ...row,
            scopes: row.scopes.join(" "),
            user_id: userId,
            token_hash: tokenHash(token)
          }
          yield* sql`INSERT INTO api_keys ${sql.insert(stored)}`
          return { ...apiKeyOf(row), token }
        }),

        list: Effect.fn("ApiKeyStore.list")(function* (userId, after, limit) {
          const rows = yield* apiKeyRows.all(sql`
            SELECT ${columns} FROM api_keys
            WHERE user_id = ${userId} AND revoked_at IS NULL ${after === undefined ? sql`` : sql`AND id > ${after}`}
            ORDER BY id LIMIT ${limit}`)
          return rows.map(apiKeyOf)
        }),

        remove: Effect.fn("ApiKeyStore.remove")(function* (userId, id) {
          const ended = yield* sql`
            UPDATE api_keys SET revoked_at = ${now()}
            WHERE id = ${id} AND user_id = ${userId} AND revoked_at IS NULL RETURNING id`
          if (ended.length === 0) return yield* new PermissionDenied()
          yield* notify(sql, "signInEnded", id)
        }, sql.withTransaction),

        isValid: Effect.fn("ApiKeyStore.isValid")(function* (id) {
          const found =
            yield* sql`SELECT 1 FROM api_keys WHERE id = ${id} AND revoked_at IS NULL AND expires_at > ${now()}`
          return found.length > 0
        }),

        // Untraced: runs for every request with a key.
        find: Effect.fnUntraced(function* (token) {
          if (purposeOf(token) !== "key") return undefined
          const at = now()
          const row = yield* ownedApiKeyRows.first(sql`
            SELECT ${columns}, user_id FROM api_keys
            WHERE token_hash = ${tokenHash(token)} AND revoked_at IS NULL AND expires_at > ${at}`)
          if (row === undefined) return undefined
          if (row.last_used_at === null || at.getTime() - row.last_used_at.getTime() >= USE_STORED_EVERY)
            yield* sql`UPDATE api_keys SET last_used_at = ${at} WHERE id = ${row.id}`
          return {
            userId: row.user_id,
            signInId: row.id,
            kind: "key" as const,
            scopes: row.scopes,
            expiresAt: row.expires_at
          }
        })
      })
    })
  )
}
