/**
 * Rows of sign-ins: the tables `sign_ins` and `replaced_tokens`, their codec, the audit record of a change, and the revocation of one,
 * of those of a user, and of those of a session or a subject of the identity provider.
 *
 * Guarantees: sockets are notified and the audit is written in the transaction that ends a sign-in.
 */
import type { AuditAction } from "@corral/domain/access/AuditAction"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { SignInId, UserId } from "@corral/domain/identity/Ids"
import { type OpenSignIn, SignInKind } from "@corral/domain/identity/User"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect, Option, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { notify } from "../store/Notices.ts"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

// Context that the parts of `SignInStore` share: the database, the time and the audit record of a change.

export type SignInContext = Effect.Success<typeof signInContext>

export const signInContext = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit
  const clock = yield* Clock.Clock

  return {
    sql,
    now: () => new Date(clock.currentTimeMillisUnsafe()),

    /** Records a change as part of the current transaction. */
    record: Effect.fnUntraced(function* (action: AuditAction, actor: string, signInId: string) {
      const requestId = yield* Effect.serviceOption(CurrentRequestId)
      yield* audit.record({
        action,
        actor,
        resource: signInId,
        projectId: null,
        outcome: "allowed",
        code: null,
        requestId: Option.getOrElse(requestId, () => mint("req", clock.currentTimeMillisUnsafe()))
      })
    })
  }
})

/** Condition of the rows that are valid at a time. */
export const isValidAt = (sql: SqlClient.SqlClient, at: Date) =>
  sql`revoked_at IS NULL AND idle_until > ${at} AND cap_at > ${at}`

const columns = {
  id: SignInId,
  user_id: UserId,
  kind: SignInKind,
  token_hash: Schema.Uint8Array,
  created_at: Timestamp,
  authenticated_at: Timestamp,
  last_seen_at: Timestamp,
  idle_until: Timestamp,
  cap_at: Timestamp,
  client_name: Schema.NullOr(Schema.String)
}

const SignInRow = Schema.Struct(
  Struct.pick(columns, ["id", "user_id", "kind", "last_seen_at", "idle_until", "cap_at"])
)
export type SignInRow = typeof SignInRow.Type

const OpenSignInRow = Schema.Struct(
  Struct.pick(columns, ["id", "kind", "client_name", "created_at", "last_seen_at", "idle_until"])
)

const SignInOwnerRow = Schema.Struct(Struct.pick(columns, ["id", "user_id"]))
type SignInOwnerRow = typeof SignInOwnerRow.Type

export const SIGN_IN_COLUMNS = Object.keys(SignInRow.fields).join(", ")
export const OPEN_SIGN_IN_COLUMNS = Object.keys(OpenSignInRow.fields).join(", ")

export const signInRows = storedRows("sign_ins", SignInRow)
export const openSignInRows = storedRows("sign_ins", OpenSignInRow)
const signInOwnerRows = storedRows("sign_ins", SignInOwnerRow)
export const signInTokenRows = storedRows("sign_ins", Schema.Struct({ token_hash: columns.token_hash }))
export const authenticationRows = storedRows(
  "sign_ins",
  Schema.Struct({ authenticated_at: columns.authenticated_at })
)
/** The salt of the token that replaced it; null after the grace, and from Hubs of 0.2.0. */
export const successorRows = storedRows(
  "replaced_tokens",
  Schema.Struct({ salt: Schema.NullOr(Schema.Uint8Array) })
)
/** A sign-in, found by a token that it has exchanged. */
export const exchangedSignInRows = storedRows(
  "replaced_tokens",
  Schema.Struct({ ...SignInRow.fields, replaced_at: Timestamp })
)

/** `currentId` names the sign-in of the request. */
export const openSignInOf = (row: typeof OpenSignInRow.Type, currentId: string): OpenSignIn => ({
  id: row.id,
  kind: row.kind,
  ...(row.client_name === null ? {} : { clientName: row.client_name }),
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_seen_at.toISOString(),
  expiresAt: row.idle_until.toISOString(),
  current: row.id === currentId
})

/** A subject of the identity provider, or one of its sessions. */
export type ProviderSubject =
  | { readonly issuer: string; readonly session: string; readonly subject?: string | undefined }
  | { readonly issuer: string; readonly subject: string; readonly session?: undefined }

export const signInRevocation = ({ now, record, sql }: SignInContext) => {
  /** Notifies sockets and records each end; returns the number of sign-ins. */
  const finish = Effect.fnUntraced(function* (rows: ReadonlyArray<SignInOwnerRow>, actor?: string) {
    for (const { id, user_id } of rows) {
      yield* notify(sql, "signInEnded", id)
      yield* record("sign_in.revoke", actor ?? user_id, id)
    }
    return rows.length
  })

  const revokeOne = Effect.fnUntraced(function* (signInId: string, actor?: string) {
    const rows = yield* signInOwnerRows.all(sql`
      UPDATE sign_ins SET revoked_at = ${now()} WHERE id = ${signInId} AND revoked_at IS NULL
      RETURNING id, user_id`)
    return yield* finish(rows, actor)
  }, sql.withTransaction)

  return {
    /** Ends a sign-in whose exchanged token was used again. */
    revokeCopied: (signInId: string) => revokeOne(signInId, "system"),

    revoke: Effect.fn("SignInRow.revoke")(function* (signInId: string) {
      return (yield* revokeOne(signInId)) > 0
    }),

    revokeOwn: Effect.fn("SignInRow.revokeOwn")(function* (userId: UserId, signInId: SignInId) {
      const rows = yield* signInOwnerRows.all(sql`
        UPDATE sign_ins SET revoked_at = ${now()}
        WHERE id = ${signInId} AND user_id = ${userId} AND revoked_at IS NULL RETURNING id, user_id`)
      return (yield* finish(rows)) > 0
    }, sql.withTransaction),

    revokeOthers: Effect.fn("SignInRow.revokeOthers")(function* (userId: UserId, currentId: string) {
      const rows = yield* signInOwnerRows.all(sql`
        UPDATE sign_ins SET revoked_at = ${now()}
        WHERE user_id = ${userId} AND id <> ${currentId} AND revoked_at IS NULL AND cap_at > ${now()}
        RETURNING id, user_id`)
      yield* finish(rows)
    }, sql.withTransaction),

    revokeOf: Effect.fn("SignInRow.revokeOf")(function* ({ issuer, session, subject }: ProviderSubject) {
      const rows = yield* signInOwnerRows.all(sql`
        UPDATE sign_ins SET revoked_at = ${now()} FROM users
        WHERE users.id = user_id AND revoked_at IS NULL AND issuer = ${issuer}
          ${session === undefined ? sql`` : sql`AND provider_session = ${session}`}
          ${subject === undefined ? sql`` : sql`AND subject = ${subject}`}
        RETURNING sign_ins.id, user_id`)
      return yield* finish(rows, "system")
    }, sql.withTransaction)
  }
}
