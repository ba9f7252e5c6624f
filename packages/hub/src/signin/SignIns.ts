/**
 * Sign-ins: who holds which token, and how long it is worth something.
 *
 * A sign-in ends when nobody used it for its idle time, at its cap whatever the use, or when it is revoked; the next look finds that. It
 * does not know how a person proved who they are.
 */
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { UserId } from "@corral/domain/Ids"
import type { SignInKind } from "@corral/domain/User"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { hashOf, newToken, purposeOf } from "./SessionToken.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** Milliseconds without use, and in all. */
export const lifetimes: Readonly<Record<SignInKind, { readonly idle: number; readonly cap: number }>> = {
  web: { idle: 12 * HOUR, cap: 30 * DAY },
  desktop: { idle: 30 * DAY, cap: 90 * DAY },
  cli: { idle: 30 * DAY, cap: 90 * DAY }
}

/** A use is written down once a minute at most. */
const NOTICE_EVERY = 60_000

export interface ActiveSignIn extends Principal {
  /** When it ends unless it is used before. */
  readonly expiresAt: Date
}

export interface IssuedSignIn extends ActiveSignIn {
  /** Told this once. */
  readonly token: string
}

export class SignIns extends Context.Service<
  SignIns,
  {
    readonly issue: (userId: UserId, kind: SignInKind) => Effect.Effect<IssuedSignIn, SqlError.SqlError>
    /** The sign-in of a token that is worth something now; using it keeps it alive. */
    readonly find: (token: string) => Effect.Effect<ActiveSignIn | undefined, SqlError.SqlError>
    /** Ends it now; `false` where it had ended already. */
    readonly revoke: (signInId: string) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("corral/hub/SignIns") {
  static readonly layer = Layer.effect(
    SignIns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      return SignIns.of({
        issue: Effect.fnUntraced(function* (userId: UserId, kind: SignInKind) {
          const now = clock.currentTimeMillisUnsafe()
          const token = newToken("session")
          const signInId = mint<string>("sin", now)
          const expiresAt = new Date(now + lifetimes[kind].idle)
          yield* sql`INSERT INTO sign_ins ${sql.insert({
            id: signInId,
            user_id: userId,
            kind,
            token_hash: hashOf(token),
            created_at: new Date(now),
            last_seen_at: new Date(now),
            idle_until: expiresAt,
            cap_at: new Date(now + lifetimes[kind].cap)
          })}`
          return { userId, signInId, kind, expiresAt, token }
        }),

        find: Effect.fnUntraced(function* (token: string) {
          if (purposeOf(token) !== "session") return undefined
          const now = clock.currentTimeMillisUnsafe()
          const [row] = yield* sql<Row>`
            SELECT id, user_id, kind, last_seen_at, idle_until, cap_at FROM sign_ins
            WHERE token_hash = ${hashOf(token)} AND revoked_at IS NULL
              AND idle_until > ${new Date(now)} AND cap_at > ${new Date(now)}`
          if (row === undefined) return undefined
          const principal = { userId: row.user_id, signInId: row.id, kind: row.kind }
          if (now - row.last_seen_at.getTime() < NOTICE_EVERY)
            return { ...principal, expiresAt: row.idle_until }
          const expiresAt = new Date(Math.min(now + lifetimes[row.kind].idle, row.cap_at.getTime()))
          yield* sql`
            UPDATE sign_ins SET last_seen_at = ${new Date(now)}, idle_until = ${expiresAt} WHERE id = ${row.id}`
          return { ...principal, expiresAt }
        }),

        revoke: Effect.fnUntraced(function* (signInId: string) {
          const now = new Date(clock.currentTimeMillisUnsafe())
          const ended = yield* sql`
            UPDATE sign_ins SET revoked_at = ${now} WHERE id = ${signInId} AND revoked_at IS NULL RETURNING id`
          return ended.length > 0
        })
      })
    })
  )
}

interface Row {
  readonly id: string
  readonly user_id: UserId
  readonly kind: SignInKind
  readonly last_seen_at: Date
  readonly idle_until: Date
  readonly cap_at: Date
}
