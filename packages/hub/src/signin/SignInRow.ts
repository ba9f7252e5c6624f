/**
 * The tables `sign_ins` and `replaced_tokens`: their codec, and the audit record of a change.
 */
import { SignInId, UserId } from "@corral/domain/identity/Ids"
import { type OpenSignIn, SignInKind } from "@corral/domain/identity/User"
import { Clock, Effect, Option, Schema, Struct } from "effect"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { mint } from "@corral/service/Identifiers"
import { SqlClient } from "effect/sql"
import { Audit } from "../audit/Audit.ts"

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
export type SignInOwnerRow = typeof SignInOwnerRow.Type

export const SIGN_IN_COLUMNS = Object.keys(SignInRow.fields).join(", ")
export const OPEN_SIGN_IN_COLUMNS = Object.keys(OpenSignInRow.fields).join(", ")

export const signInRows = storedRows("sign_ins", SignInRow)
export const openSignInRows = storedRows("sign_ins", OpenSignInRow)
export const signInOwnerRows = storedRows("sign_ins", SignInOwnerRow)
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
