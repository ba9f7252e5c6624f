/**
 * Sign-ins of users: their tokens and how long those are valid.
 *
 * Guarantees: a sign-in ends after its idle time without use, at its cap, or when it is revoked; the next lookup sees that. A token can be
 * exchanged for a new one. The old token stays valid for a moment, for requests in progress and lost responses: repeated exchanges of it give
 * the same new token. Its later use ends the sign-in, because the token must have been copied.
 *
 * Does not: verify who the user is.
 */
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { SignInId, UserId } from "@corral/domain/identity/Ids"
import type { OpenSignIn, SignInKind } from "@corral/domain/identity/User"
import { mint } from "@corral/service/Identifiers"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { randomBytes } from "node:crypto"
import { newToken, purposeOf, successorOf, tokenHash } from "./SessionToken.ts"
import {
  authenticationRows,
  exchangedSignInRows,
  isValidAt,
  OPEN_SIGN_IN_COLUMNS,
  openSignInOf,
  openSignInRows,
  type ProviderSubject,
  SIGN_IN_COLUMNS,
  type SignInContext,
  signInContext,
  signInRevocation,
  type SignInRow,
  signInRows,
  signInTokenRows,
  successorRows
} from "./SignInRow.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** Milliseconds: `idle` without use, `cap` in total. */
export const lifetimes: Readonly<Record<SignInKind, { readonly idle: number; readonly cap: number }>> = {
  web: { idle: 12 * HOUR, cap: 30 * DAY },
  desktop: { idle: 30 * DAY, cap: 90 * DAY },
  cli: { idle: 30 * DAY, cap: 90 * DAY }
}

/** Uses are stored at most this often, in milliseconds. */
const USE_STORED_EVERY = 60_000
/** Milliseconds for which an exchanged token stays valid. */
const EXCHANGE_GRACE = 30_000
/** Milliseconds for which an ended sign-in is stored, so that an old token still reveals a copy. */
const RETENTION = 30 * DAY

export interface ActiveSignIn extends Principal {
  readonly kind: SignInKind
}

export interface IssuedSignIn extends ActiveSignIn {
  /** Returned only here; the database has its hash. */
  readonly token: string
}

/** Details of a new sign-in. */
export interface SignInDetails {
  /** Id of the provider's session, if the provider has sessions. */
  readonly providerSession?: string | undefined
  /** Name that the program gave itself. */
  readonly clientName?: string | null | undefined
  /** Time when the user authenticated at the provider, if the provider reports it; a time in the future counts as now. */
  readonly authenticatedAt?: Date | undefined
}

export class SignInStore extends Context.Service<
  SignInStore,
  {
    readonly issue: (
      userId: UserId,
      kind: SignInKind,
      details?: SignInDetails
    ) => Effect.Effect<IssuedSignIn, SqlError.SqlError>
    /** The sign-in of a valid token. A use extends it. A token that was exchanged before the grace period ends its sign-in. */
    readonly find: (token: string) => Effect.Effect<ActiveSignIn | undefined, SqlError.SqlError>
    /** Exchanges a valid token for a new one; `undefined` for any other token. */
    readonly refresh: (token: string) => Effect.Effect<IssuedSignIn | undefined, SqlError.SqlError>
    /** Whether a sign-in is valid now. The check does not extend it. */
    readonly isValid: (signInId: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** Time when the user authenticated; `undefined` if the sign-in does not exist. A refresh does not change it. */
    readonly authenticatedAt: (signInId: string) => Effect.Effect<Date | undefined, SqlError.SqlError>
    /** Valid sign-ins of a user, newest first. `current` is the one of this request. */
    readonly list: (
      userId: UserId,
      current: string,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<OpenSignIn>, SqlError.SqlError>
    /** Ends a sign-in of the user; `false` if the user has no such sign-in. */
    readonly revokeOwn: (userId: UserId, signInId: SignInId) => Effect.Effect<boolean, SqlError.SqlError>
    /** Ends all sign-ins of the user except one. */
    readonly revokeOthers: (userId: UserId, currentId: string) => Effect.Effect<void, SqlError.SqlError>
    /** Ends a sign-in; `false` if it had ended. */
    readonly revoke: (signInId: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** Ends the sign-ins of a provider's session or subject; returns their number. */
    readonly revokeOf: (subject: ProviderSubject) => Effect.Effect<number, SqlError.SqlError>
  }
>()("corral/hub/SignIns") {
  static readonly layer = Layer.effect(
    SignInStore,
    Effect.gen(function* () {
      const context = yield* signInContext
      const { revokeCopied, ...revocation } = signInRevocation(context)
      const lookUp = lookupOf(context, revokeCopied)
      return SignInStore.of({ ...revocation, ...readsOf(context, lookUp), ...tokensOf(context, lookUp) })
    })
  )
}

type Lookup = ReturnType<typeof lookupOf>

/** Finds the valid sign-in of a token, also of one that was just exchanged. */
const lookupOf = (
  { sql }: SignInContext,
  revokeCopied: (signInId: string) => Effect.Effect<number, SqlError.SqlError>
) => {
  const findExchanged = Effect.fnUntraced(function* (hash: Buffer, at: Date) {
    const row = yield* exchangedSignInRows.first(sql`
      SELECT s.id, user_id, kind, last_seen_at, idle_until, cap_at, replaced_at
      FROM replaced_tokens r JOIN sign_ins s ON s.id = r.sign_in_id
      WHERE r.token_hash = ${hash} AND ${isValidAt(sql, at)}`)
    if (row === undefined || at.getTime() - row.replaced_at.getTime() <= EXCHANGE_GRACE) return row
    yield* Effect.logWarning("ended sign-in because an exchanged token was used again", { signInId: row.id })
    yield* revokeCopied(row.id)
    return undefined
  })

  return Effect.fnUntraced(function* (token: string, at: Date) {
    if (purposeOf(token) !== "session") return undefined
    const hash = tokenHash(token)
    const row = yield* signInRows.first(sql`
      SELECT ${sql.literal(SIGN_IN_COLUMNS)} FROM sign_ins
      WHERE token_hash = ${hash} AND ${isValidAt(sql, at)}`)
    return row ?? (yield* findExchanged(hash, at))
  })
}

const readsOf = ({ now, sql }: SignInContext, lookUp: Lookup) => ({
  // Untraced: runs for every request.
  find: Effect.fnUntraced(function* (token: string) {
    const at = now()
    const row = yield* lookUp(token, at)
    if (row === undefined) return undefined
    const active = activeOf(row)
    if (at.getTime() - row.last_seen_at.getTime() < USE_STORED_EVERY) return active
    const expiresAt = extendedUntil(row, at)
    yield* sql`UPDATE sign_ins SET last_seen_at = ${at}, idle_until = ${expiresAt} WHERE id = ${row.id}`
    return { ...active, expiresAt }
  }),

  isValid: Effect.fn("SignInStore.isValid")(function* (signInId: string) {
    const found = yield* sql`SELECT 1 FROM sign_ins WHERE id = ${signInId} AND ${isValidAt(sql, now())}`
    return found.length > 0
  }),

  authenticatedAt: Effect.fn("SignInStore.authenticatedAt")(function* (signInId: string) {
    const row = yield* authenticationRows.first(
      sql`SELECT authenticated_at FROM sign_ins WHERE id = ${signInId}`
    )
    return row?.authenticated_at
  }),

  list: Effect.fn("SignInStore.list")(function* (
    userId: UserId,
    current: string,
    before: string | undefined,
    limit: number
  ) {
    const rows = yield* openSignInRows.all(sql`
      SELECT ${sql.literal(OPEN_SIGN_IN_COLUMNS)} FROM sign_ins
      WHERE user_id = ${userId} AND ${isValidAt(sql, now())} ${before === undefined ? sql`` : sql`AND id < ${before}`}
      ORDER BY id DESC LIMIT ${limit}`)
    return rows.map((row) => openSignInOf(row, current))
  })
})

const tokensOf = ({ now, record, sql }: SignInContext, lookUp: Lookup) => ({
  issue: Effect.fn("SignInStore.issue")(function* (
    userId: UserId,
    kind: SignInKind,
    { authenticatedAt, clientName, providerSession }: SignInDetails = {}
  ) {
    const at = now()
    const token = newToken("session")
    const signInId = mint<string>("sin", at.getTime())
    const expiresAt = new Date(at.getTime() + lifetimes[kind].idle)
    const row = {
      id: signInId,
      user_id: userId,
      kind,
      token_hash: tokenHash(token),
      created_at: at,
      authenticated_at: authenticatedAt === undefined || authenticatedAt > at ? at : authenticatedAt,
      last_seen_at: at,
      idle_until: expiresAt,
      cap_at: new Date(at.getTime() + lifetimes[kind].cap),
      provider_session: providerSession ?? null,
      client_name: clientName ?? null
    }
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`DELETE FROM sign_ins WHERE cap_at < ${new Date(at.getTime() - RETENTION)}`
        yield* sql`INSERT INTO sign_ins ${sql.insert(row)}`
        yield* record("sign_in.issue", userId, signInId)
      })
    )
    return { userId, signInId, kind, expiresAt, token }
  }),

  refresh: Effect.fn("SignInStore.refresh")(function* (token: string) {
    const at = now()
    const row = yield* lookUp(token, at)
    if (row === undefined) return undefined
    const hash = tokenHash(token)
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        // Locked: of concurrent exchanges of one token, the first makes the new token, and the others return the same.
        const current = yield* signInTokenRows.first(
          sql`SELECT token_hash FROM sign_ins WHERE id = ${row.id} AND ${isValidAt(sql, at)} FOR UPDATE`
        )
        if (current === undefined) return undefined
        const exchanged = yield* successorRows.first(
          sql`SELECT salt FROM replaced_tokens WHERE token_hash = ${hash}`
        )
        if (exchanged !== undefined && exchanged.salt !== null)
          return { ...activeOf(row), token: successorOf(token, exchanged.salt) }
        const salt = exchanged === undefined ? randomBytes(32) : null
        const fresh = salt === null ? newToken("session") : successorOf(token, salt)
        const expiresAt = extendedUntil(row, at)
        const replaced = { token_hash: current.token_hash, sign_in_id: row.id, replaced_at: at, salt }
        yield* sql`
          UPDATE replaced_tokens SET salt = NULL
          WHERE sign_in_id = ${row.id} AND salt IS NOT NULL AND replaced_at < ${new Date(at.getTime() - EXCHANGE_GRACE)}`
        yield* sql`INSERT INTO replaced_tokens ${sql.insert(replaced)}`
        yield* sql`
          UPDATE sign_ins SET token_hash = ${tokenHash(fresh)}, last_seen_at = ${at}, idle_until = ${expiresAt}
          WHERE id = ${row.id}`
        yield* record("sign_in.refresh", row.user_id, row.id)
        return { ...activeOf(row), expiresAt, token: fresh }
      })
    )
  })
})

const activeOf = ({ id, idle_until, kind, user_id }: SignInRow): ActiveSignIn => ({
  userId: user_id,
  signInId: id,
  kind,
  expiresAt: idle_until
})

/** End of a sign-in that is used now: another idle time, at most until the cap. */
const extendedUntil = ({ cap_at, kind }: SignInRow, at: Date): Date =>
  new Date(Math.min(at.getTime() + lifetimes[kind].idle, cap_at.getTime()))
