/** Quotas of sent files: what one session has in all, and what one user uploads in 24 hours. */
import { PayloadTooLarge } from "@corral/domain/errors/Failures"
import type { SessionId, UserId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"

const MIB = 1_048_576
export const MAX_SESSION_BYTES = 500 * MIB
export const MAX_DAILY_BYTES = 2_048 * MIB
const DAY_MS = 86_400_000

const totalRows = storedRows("uploads", Schema.Struct({ bytes: Schema.Finite }))

const mib = (bytes: number): string => `${Math.ceil(bytes / MIB).toLocaleString("en")} MiB`

const checkQuota = (
  kind: "session" | "day",
  usedBytes: number,
  bytes: number,
  limitBytes: number
): Effect.Effect<void, PayloadTooLarge> => {
  if (usedBytes + bytes <= limitBytes) return Effect.void
  const [owner, remedy] =
    kind === "session"
      ? ["This session has", "Start another session for more files."]
      : ["You have uploaded", "Upload the file later, or put it into the workspace."]
  return Effect.fail(
    new PayloadTooLarge({
      message: `${owner} ${mib(usedBytes)} of files${kind === "day" ? " in 24 hours" : ""}, and ${mib(bytes)} more would exceed the limit of ${mib(limitBytes)}. ${remedy}`,
      details: { quota: kind, usedBytes, bytes, limitBytes }
    })
  )
}

/** Checks the files of a session, to which the caller's transaction has added `bytes`. The caller holds the lock of the session. */
export const checkSessionQuota = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  bytes: number
) {
  const total = yield* totalRows.first(sql`
    SELECT COALESCE(sum(u.bytes), 0)::float8 AS bytes FROM session_uploads s JOIN uploads u ON u.id = s.upload_id
    WHERE s.session_id = ${sessionId}`)
  yield* checkQuota("session", (total?.bytes ?? bytes) - bytes, bytes, MAX_SESSION_BYTES)
})

/** Checks what the user has uploaded in the last 24 hours, before another file. The caller holds the lock of the user's uploads. */
export const checkDailyQuota = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  bytes: number,
  now: Date
) {
  const total = yield* totalRows.first(sql`
    SELECT COALESCE(sum(bytes), 0)::float8 AS bytes FROM uploads
    WHERE user_id = ${userId} AND created_at > ${new Date(now.getTime() - DAY_MS)}`)
  yield* checkQuota("day", total?.bytes ?? 0, bytes, MAX_DAILY_BYTES)
})
