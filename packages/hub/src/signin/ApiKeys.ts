/**
 * API keys of a person: tokens of another purpose than a sign-in's, with scopes and an end. Only their hashes are kept.
 */
import type { ApiKey, ApiKeyScope, CreateApiKey, IssuedApiKey } from "@corral/domain/identity/ApiKey"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ApiKeyId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { hashOf, newToken, purposeOf } from "./SessionToken.ts"
import { notify } from "../store/Notice.ts"

/** A key in the place of a sign-in. */
export interface ActiveApiKey extends Principal {
  readonly kind: "key"
  readonly scopes: ReadonlyArray<ApiKeyScope>
}

/** Of one person, at once. */
const MAX_KEYS = 100
const DAY = 86_400_000
/** A use is written down once a minute at most. */
const NOTICE_EVERY = 60_000

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    readonly create: (
      userId: UserId,
      wanted: CreateApiKey
    ) => Effect.Effect<IssuedApiKey, Conflict | SqlError.SqlError>
    /** By id, the expired ones too. */
    readonly list: (
      userId: UserId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ApiKey>, SqlError.SqlError>
    readonly remove: (
      userId: UserId,
      id: ApiKeyId
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
    /** The key of a token that is worth something now. */
    readonly find: (token: string) => Effect.Effect<ActiveApiKey | undefined, SqlError.SqlError>
    /** Whether it is worth something now. Looking is no use of it. */
    readonly lives: (id: string) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("corral/hub/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      return ApiKeys.of({
        create: Effect.fnUntraced(function* (userId, { expiresInDays, name, scopes }) {
          const at = now()
          const [held] = yield* sql<{ readonly count: number }>`
            SELECT count(*)::int AS count FROM api_keys WHERE user_id = ${userId} AND revoked_at IS NULL`
          if ((held?.count ?? 0) >= MAX_KEYS)
            return yield* new Conflict({
              message: `Nobody has more than ${MAX_KEYS} keys. Remove one first.`
            })
          const token = newToken("key")
          const row = {
            id: mint<ApiKeyId>("key", at.getTime()),
            name,
            scopes: [...new Set(scopes)].join(" "),
            created_at: at,
            expires_at: new Date(at.getTime() + expiresInDays * DAY),
            last_used_at: null
          }
          yield* sql`INSERT INTO api_keys ${sql.insert({ ...row, user_id: userId, token_hash: hashOf(token) })}`
          return { ...keyOf(row), token }
        }),

        list: (userId, after, limit) =>
          sql<Row>`
            SELECT id, name, scopes, created_at, expires_at, last_used_at FROM api_keys
            WHERE user_id = ${userId} AND revoked_at IS NULL ${after === undefined ? sql`` : sql`AND id > ${after}`}
            ORDER BY id LIMIT ${limit}`.pipe(Effect.map((rows) => rows.map(keyOf))),

        remove: Effect.fnUntraced(function* (userId, id) {
          const ended = yield* sql`
            UPDATE api_keys SET revoked_at = ${now()}
            WHERE id = ${id} AND user_id = ${userId} AND revoked_at IS NULL RETURNING id`
          if (ended.length === 0) return yield* new PermissionDenied()
          yield* notify(sql, "signInEnded", id)
        }, sql.withTransaction),

        lives: (id) =>
          Effect.suspend(
            () =>
              sql`SELECT 1 FROM api_keys WHERE id = ${id} AND revoked_at IS NULL AND expires_at > ${now()}`
          ).pipe(Effect.map((rows) => rows.length > 0)),

        find: Effect.fnUntraced(function* (token) {
          if (purposeOf(token) !== "key") return undefined
          const at = now()
          const [row] = yield* sql<Row & { readonly user_id: UserId }>`
            SELECT id, user_id, name, scopes, created_at, expires_at, last_used_at FROM api_keys
            WHERE token_hash = ${hashOf(token)} AND revoked_at IS NULL AND expires_at > ${at}`
          if (row === undefined) return undefined
          if (row.last_used_at === null || at.getTime() - row.last_used_at.getTime() >= NOTICE_EVERY)
            yield* sql`UPDATE api_keys SET last_used_at = ${at} WHERE id = ${row.id}`
          return {
            userId: row.user_id,
            signInId: row.id,
            kind: "key" as const,
            scopes: keyOf(row).scopes,
            expiresAt: row.expires_at
          }
        })
      })
    })
  )
}

interface Row {
  readonly id: ApiKeyId
  readonly name: string
  /** Separated by spaces. */
  readonly scopes: string
  readonly created_at: Date
  readonly expires_at: Date
  readonly last_used_at: Date | null
}

const keyOf = ({ created_at, expires_at, id, last_used_at, name, scopes }: Row): ApiKey => ({
  id,
  name,
  // Written by `create`, from the same words.
  scopes: scopes.split(" ") as ReadonlyArray<ApiKeyScope>,
  createdAt: created_at.toISOString(),
  expiresAt: expires_at.toISOString(),
  ...(last_used_at === null ? {} : { lastUsedAt: last_used_at.toISOString() })
})
