/**
 * Revocation of sign-ins: one, those of a user, and those of a session or a subject of the identity provider.
 *
 * Guarantees: sockets are notified and the audit is written in the transaction that ends a sign-in.
 */
import type { SignInId, UserId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { notify } from "../store/Notice.ts"
import { type SignInContext, type SignInOwnerRow, signInOwnerRows } from "./SignInRow.ts"

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

    revoke: Effect.fn("SignInRevocation.revoke")(function* (signInId: string) {
      return (yield* revokeOne(signInId)) > 0
    }),

    revokeOwn: Effect.fn("SignInRevocation.revokeOwn")(function* (userId: UserId, signInId: SignInId) {
      const rows = yield* signInOwnerRows.all(sql`
        UPDATE sign_ins SET revoked_at = ${now()}
        WHERE id = ${signInId} AND user_id = ${userId} AND revoked_at IS NULL RETURNING id, user_id`)
      return (yield* finish(rows)) > 0
    }, sql.withTransaction),

    revokeOthers: Effect.fn("SignInRevocation.revokeOthers")(function* (userId: UserId, currentId: string) {
      const rows = yield* signInOwnerRows.all(sql`
        UPDATE sign_ins SET revoked_at = ${now()}
        WHERE user_id = ${userId} AND id <> ${currentId} AND revoked_at IS NULL AND cap_at > ${now()}
        RETURNING id, user_id`)
      yield* finish(rows)
    }, sql.withTransaction),

    revokeOf: Effect.fn("SignInRevocation.revokeOf")(function* ({
      issuer,
      session,
      subject
    }: ProviderSubject) {
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
