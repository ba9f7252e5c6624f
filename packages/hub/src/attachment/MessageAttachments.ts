/** Files of messages: uploads that a message takes, and the files that the start of a run names. */
import { Conflict, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { AttachmentId, DeviceId, SessionId, UserId } from "@corral/domain/identity/Ids"
import {
  ATTACHMENTS_FEATURE,
  type CommandAttachments,
  MAX_EARLIER_ATTACHMENTS
} from "@corral/domain/link/EdgeCommand"
import type { Attachment } from "@corral/domain/session/Attachment"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Targets } from "../edges/Targets.ts"
import { UPLOAD_COLUMNS, UPLOAD_LIFETIME_MS, attachmentOf, uploadRows } from "./Uploads.ts"
import { checkSessionQuota } from "./UploadQuota.ts"

/** Gives the user's uploads to a message of the session, in the caller's transaction. An upload is given once. */
export const takeUploads = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  userId: UserId,
  sessionId: SessionId,
  ids: ReadonlyArray<AttachmentId>,
  now: Date
) {
  if (ids.length === 0) return []
  const taken = yield* uploadRows.all(sql`
    UPDATE uploads SET is_sent = true
    WHERE id = ANY(${ids}::text[]) AND user_id = ${userId} AND NOT is_sent AND sha256 IS NOT NULL
      AND created_at > ${new Date(now.getTime() - UPLOAD_LIFETIME_MS)}
    RETURNING ${sql.literal(UPLOAD_COLUMNS)}`)
  const byId = new Map(taken.map((row) => [row.id, attachmentOf(row)]))
  const issues = ids.flatMap((id, i) =>
    byId.has(id)
      ? []
      : [{ path: `attachments.${i}`, message: "Expected an upload of yours that no message has" }]
  )
  if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
  yield* sql`
    INSERT INTO session_uploads (session_id, upload_id) SELECT ${sessionId}, unnest(${ids}::text[]) ON CONFLICT DO NOTHING`
  const bytes = taken.reduce((sum, row) => sum + row.bytes, 0)
  yield* checkSessionQuota(sql, sessionId, bytes)
  return ids.flatMap((id) => byId.get(id) ?? [])
})

/** Gives the uploads of a session's messages to the session too, after messages were copied there. */
export const shareUploads = (sql: SqlClient.SqlClient, sessionId: SessionId) => sql`
  INSERT INTO session_uploads (session_id, upload_id)
  SELECT DISTINCT m.session_id, file ->> 'id' FROM messages m, jsonb_array_elements(m.attachments::jsonb) file
  WHERE m.session_id = ${sessionId} AND m.attachments <> '[]' ON CONFLICT DO NOTHING`

/** Why a target can't receive these files; `undefined` where it can, and for a target that never was online. */
export const findAttachmentRefusal = Effect.fnUntraced(function* (
  targets: Targets["Service"],
  targetId: DeviceId,
  attachments: ReadonlyArray<unknown>
) {
  if (attachments.length === 0) return undefined
  const offer = yield* targets.lastOffer(targetId)
  return offer === undefined || offer.commands.includes(ATTACHMENTS_FEATURE)
    ? undefined
    : new Conflict({ message: "The Edge of this device is too old for attachments. Update it." })
})

const MAX_EARLIER_BYTES = 100 * 1_048_576

/** Files that a run needs: those of its message, and the newest of the transcript before it. */
export const attachmentsOfRun = (
  message: ReadonlyArray<Attachment>,
  newestFirst: ReadonlyArray<Attachment>
): CommandAttachments | undefined => {
  const ids = new Set(message.map(({ id }) => id))
  const earlier: Array<Attachment> = []
  let bytes = 0
  for (const attachment of newestFirst) {
    bytes += attachment.bytes
    if (earlier.length === MAX_EARLIER_ATTACHMENTS || bytes > MAX_EARLIER_BYTES) break
    if (ids.has(attachment.id)) continue
    ids.add(attachment.id)
    earlier.unshift(attachment)
  }
  return message.length === 0 && earlier.length === 0 ? undefined : { message, earlier }
}
