/**
 * Sign-ins: who holds which token, and how long it is worth something.
 *
 * A sign-in ends when nobody used it for its idle time, at its cap whatever the use, or when it is revoked; the next look finds that. Its
 * token may be exchanged for a new one; the one before is good for a moment, for requests that are under way and answers that were lost,
 * and later ends the sign-in: two hold it. It does not know how a person proved who they are.
 */
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { SignInId, UserId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { OpenSignIn, SignInKind } from "@corral/domain/identity/User"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { hashOf, newToken, purposeOf } from "./SessionToken.ts"
import { notify } from "../store/Notice.ts"

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
/** How long a token is still good after it was exchanged. */
const GRACE = 30_000
/** How long what has ended is remembered, so that an old token still tells of a copy. */
const REMEMBERED = 30 * DAY

export interface ActiveSignIn extends Principal {
  readonly kind: SignInKind
}

export interface IssuedSignIn extends ActiveSignIn {
  /** Told this once. */
  readonly token: string
}

/** Of the identity provider's subject, or of one of its sessions. */
export type ProviderSubject =
  | { readonly issuer: string; readonly session: string; readonly subject?: string | undefined }
  | { readonly issuer: string; readonly subject: string; readonly session?: undefined }

/** What else is known of a new sign-in. */
export interface Known {
  /** The identity provider's name for the session that it rests on. */
  readonly providerSession?: string | undefined
  /** What the program that holds it calls itself. */
  readonly clientName?: string | null | undefined
  /** When the provider asked for the person, where it says so; a time in the future counts as now. */
  readonly authenticatedAt?: Date | undefined
}

export class SignIns extends Context.Service<
  SignIns,
  {
    readonly issue: (
      userId: UserId,
      kind: SignInKind,
      known?: Known
    ) => Effect.Effect<IssuedSignIn, SqlError.SqlError>
    /** The sign-in of a token that is worth something now; using it keeps it alive. A token that was exchanged long ago ends its sign-in. */
    readonly find: (token: string) => Effect.Effect<ActiveSignIn | undefined, SqlError.SqlError>
    /** A new token in place of one that `find` finds; undefined for any other. */
    readonly refresh: (token: string) => Effect.Effect<IssuedSignIn | undefined, SqlError.SqlError>
    /** Whether it is worth something now. Looking is no use of it. */
    readonly lives: (signInId: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** When its user proved who they are; undefined where there is no such sign-in. A refresh does not change it. */
    readonly authenticatedAt: (signInId: string) => Effect.Effect<Date | undefined, SqlError.SqlError>
    /** Those of a person that are worth something now, the latest first. `asker` is the one by which they ask. */
    readonly list: (
      userId: UserId,
      asker: string,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<OpenSignIn>, SqlError.SqlError>
    /** Ends that one of the person's; `false` where they have none such. */
    readonly revokeOwn: (userId: UserId, signInId: SignInId) => Effect.Effect<boolean, SqlError.SqlError>
    /** Ends all of the person's but that one. */
    readonly revokeOthers: (userId: UserId, kept: string) => Effect.Effect<void, SqlError.SqlError>
    /** Ends it now; `false` where it had ended already. */
    readonly revoke: (signInId: string) => Effect.Effect<boolean, SqlError.SqlError>
    /** Ends what rests on a session of the identity provider, or on its subject; gives how many that were. */
    readonly revokeOf: (subject: ProviderSubject) => Effect.Effect<number, SqlError.SqlError>
  }
>()("corral/hub/SignIns") {
  static readonly layer = Layer.effect(
    SignIns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      /** Part of the transaction that did it. */
      const record = Effect.fnUntraced(function* (action: AuditAction, actor: string, signInId: string) {
        const given = yield* Effect.serviceOption(CurrentRequestId)
        yield* audit.record({
          action,
          actor,
          resource: signInId,
          projectId: null,
          outcome: "allowed",
          code: null,
          requestId: Option.getOrElse(given, () => mint("req", clock.currentTimeMillisUnsafe()))
        })
      })

      /** Tells whoever holds a socket of it, and the audit, in the transaction that ends it. */
      const ended = Effect.fnUntraced(function* (rows: ReadonlyArray<Ended>, actor?: string) {
        for (const { id, user_id } of rows) {
          yield* notify(sql, "signInEnded", id)
          yield* record("sign_in.revoke", actor ?? user_id, id)
        }
        return rows.length
      })

      const revoke = (signInId: string, actor?: string) =>
        sql.withTransaction(
          sql<Ended>`
            UPDATE sign_ins SET revoked_at = ${now()} WHERE id = ${signInId} AND revoked_at IS NULL
            RETURNING id, user_id`.pipe(Effect.flatMap((rows) => ended(rows, actor)))
        )

      const living = (at: Date) => sql`revoked_at IS NULL AND idle_until > ${at} AND cap_at > ${at}`

      /** What an exchanged token still finds: its sign-in within the grace; later its end. */
      const findReplaced = Effect.fnUntraced(function* (hash: Buffer, at: Date) {
        const [row] = yield* sql<Row & { readonly replaced_at: Date }>`
          SELECT s.id, user_id, kind, last_seen_at, idle_until, cap_at, replaced_at
          FROM replaced_tokens r JOIN sign_ins s ON s.id = r.sign_in_id
          WHERE r.token_hash = ${hash} AND ${living(at)}`
        if (row === undefined || at.getTime() - row.replaced_at.getTime() <= GRACE) return row
        yield* Effect.logWarning(`an exchanged token was used again: ${row.id} is ended`)
        yield* revoke(row.id, "system")
        return undefined
      })

      const lookUp = Effect.fnUntraced(function* (token: string, at: Date) {
        if (purposeOf(token) !== "session") return undefined
        const hash = hashOf(token)
        const [row] = yield* sql<Row>`
          SELECT id, user_id, kind, last_seen_at, idle_until, cap_at FROM sign_ins
          WHERE token_hash = ${hash} AND ${living(at)}`
        return row ?? (yield* findReplaced(hash, at))
      })

      return SignIns.of({
        issue: Effect.fnUntraced(function* (
          userId,
          kind,
          { authenticatedAt, clientName, providerSession } = {}
        ) {
          const at = now()
          const token = newToken("session")
          const signInId = mint<string>("sin", at.getTime())
          const expiresAt = new Date(at.getTime() + lifetimes[kind].idle)
          const row = {
            id: signInId,
            user_id: userId,
            kind,
            token_hash: hashOf(token),
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
              yield* sql`DELETE FROM sign_ins WHERE cap_at < ${new Date(at.getTime() - REMEMBERED)}`
              yield* sql`INSERT INTO sign_ins ${sql.insert(row)}`
              yield* record("sign_in.issue", userId, signInId)
            })
          )
          return { userId, signInId, kind, expiresAt, token }
        }),

        find: Effect.fnUntraced(function* (token: string) {
          const at = now()
          const row = yield* lookUp(token, at)
          if (row === undefined) return undefined
          const found = activeOf(row)
          if (at.getTime() - row.last_seen_at.getTime() < NOTICE_EVERY) return found
          const expiresAt = extended(row, at)
          yield* sql`
            UPDATE sign_ins SET last_seen_at = ${at}, idle_until = ${expiresAt} WHERE id = ${row.id}`
          return { ...found, expiresAt }
        }),

        lives: (signInId) =>
          Effect.suspend(() => sql`SELECT 1 FROM sign_ins WHERE id = ${signInId} AND ${living(now())}`).pipe(
            Effect.map((rows) => rows.length > 0)
          ),

        authenticatedAt: (signInId) =>
          Effect.map(
            sql<{
              readonly authenticated_at: Date
            }>`SELECT authenticated_at FROM sign_ins WHERE id = ${signInId}`,
            ([row]) => row?.authenticated_at
          ),

        refresh: Effect.fnUntraced(function* (token: string) {
          const at = now()
          const row = yield* lookUp(token, at)
          if (row === undefined) return undefined
          const fresh = newToken("session")
          const expiresAt = extended(row, at)
          return yield* sql.withTransaction(
            Effect.gen(function* () {
              // Locked: of two that exchange at once, the second replaces what the first was given.
              const [present] = yield* sql<{ readonly token_hash: Uint8Array }>`
                SELECT token_hash FROM sign_ins WHERE id = ${row.id} AND ${living(at)} FOR UPDATE`
              if (present === undefined) return undefined
              const replaced = { token_hash: present.token_hash, sign_in_id: row.id, replaced_at: at }
              yield* sql`INSERT INTO replaced_tokens ${sql.insert(replaced)}`
              yield* sql`
                UPDATE sign_ins SET token_hash = ${hashOf(fresh)}, last_seen_at = ${at}, idle_until = ${expiresAt}
                WHERE id = ${row.id}`
              yield* record("sign_in.refresh", row.user_id, row.id)
              return { ...activeOf(row), expiresAt, token: fresh }
            })
          )
        }),

        list: (userId, asker, before, limit) =>
          Effect.suspend(
            () => sql<ListedRow>`
              SELECT id, kind, client_name, created_at, last_seen_at, idle_until FROM sign_ins
              WHERE user_id = ${userId} AND ${living(now())} ${before === undefined ? sql`` : sql`AND id < ${before}`}
              ORDER BY id DESC LIMIT ${limit}`
          ).pipe(Effect.map((rows) => rows.map((row) => openOf(row, asker)))),

        revokeOwn: (userId, signInId) =>
          sql.withTransaction(
            sql<Ended>`
              UPDATE sign_ins SET revoked_at = ${now()}
              WHERE id = ${signInId} AND user_id = ${userId} AND revoked_at IS NULL RETURNING id, user_id`.pipe(
              Effect.flatMap((rows) => ended(rows)),
              Effect.map((count) => count > 0)
            )
          ),

        revokeOthers: (userId, kept) =>
          sql.withTransaction(
            sql<Ended>`
              UPDATE sign_ins SET revoked_at = ${now()}
              WHERE user_id = ${userId} AND id <> ${kept} AND revoked_at IS NULL AND cap_at > ${now()}
              RETURNING id, user_id`.pipe(
              Effect.flatMap((rows) => ended(rows)),
              Effect.asVoid
            )
          ),

        revoke: (signInId) => Effect.map(revoke(signInId), (count) => count > 0),

        revokeOf: ({ issuer, session, subject }) =>
          sql.withTransaction(
            sql<Ended>`
              UPDATE sign_ins SET revoked_at = ${now()} FROM users
              WHERE users.id = user_id AND revoked_at IS NULL AND issuer = ${issuer}
                ${session === undefined ? sql`` : sql`AND provider_session = ${session}`}
                ${subject === undefined ? sql`` : sql`AND subject = ${subject}`}
              RETURNING sign_ins.id, user_id`.pipe(Effect.flatMap((rows) => ended(rows, "system")))
          )
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

interface ListedRow extends Pick<Row, "kind" | "last_seen_at" | "idle_until"> {
  readonly id: SignInId
  readonly client_name: string | null
  readonly created_at: Date
}

interface Ended {
  readonly id: string
  readonly user_id: UserId
}

const activeOf = ({ id, idle_until, kind, user_id }: Row): ActiveSignIn => ({
  userId: user_id,
  signInId: id,
  kind,
  expiresAt: idle_until
})

const openOf = (row: ListedRow, asker: string): OpenSignIn => ({
  id: row.id,
  kind: row.kind,
  ...(row.client_name === null ? {} : { clientName: row.client_name }),
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_seen_at.toISOString(),
  expiresAt: row.idle_until.toISOString(),
  current: row.id === asker
})

/** Used now: another idle time, and never past the cap. */
const extended = ({ cap_at, kind }: Row, at: Date): Date =>
  new Date(Math.min(at.getTime() + lifetimes[kind].idle, cap_at.getTime()))
