/**
 * Files of messages: uploads that a message takes, the files that the start of a run names, and their reads by Edges. A device reads
 * the files of the sessions whose runs it executes, while the run is not over.
 *
 * Guarantees: while an Edge reads, the start of its run does not count as unanswered.
 */
import { Conflict, NotFound, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { AttachmentId, DeviceId, RunId, SessionId, UserId } from "@corral/domain/identity/Ids"
import {
  ATTACHMENTS_FEATURE,
  type CommandAttachments,
  MAX_EARLIER_ATTACHMENTS
} from "@corral/domain/link/EdgeCommand"
import type { Attachment } from "@corral/domain/session/Attachment"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { startCommandId } from "../edges/CommandRequest.ts"
import type { Targets } from "../edges/Targets.ts"
import { endedRunStates } from "../store/StateLists.ts"
import { PIECE_BYTES } from "./ReceivedContent.ts"
import {
  attachmentOf,
  checkSessionQuota,
  pieceRows,
  UPLOAD_COLUMNS,
  UPLOAD_LIFETIME_MS,
  uploadRows
} from "./Uploads.ts"

export class AttachmentReads extends Context.Service<
  AttachmentReads,
  {
    /** Bytes from `offset`, up to the end of their piece; none at the end of the file. */
    readonly read: (
      deviceId: DeviceId,
      runId: RunId,
      id: AttachmentId,
      offset: number
    ) => Effect.Effect<Uint8Array, NotFound | SqlError.SqlError>
  }
>()("corral/hub/AttachmentReads") {
  static readonly layer = Layer.effect(
    AttachmentReads,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return AttachmentReads.of({
        read: Effect.fn("MessageAttachments.read")(function* (deviceId, runId, id, offset) {
          const row = yield* pieceRows.first(sql`
            SELECT substring(p.bytes FROM ${(offset % PIECE_BYTES) + 1}::int) AS bytes
            FROM runs r JOIN session_uploads s ON s.session_id = r.session_id AND s.upload_id = ${id}
            LEFT JOIN upload_pieces p ON p.upload_id = s.upload_id AND p.n = ${Math.floor(offset / PIECE_BYTES)}::int
            WHERE r.id = ${runId} AND r.target_id = ${deviceId} AND r.state NOT IN ${endedRunStates(sql)}`)
          if (row === undefined) return yield* new NotFound()
          yield* sql`
            UPDATE edge_commands SET sent_at = ${new Date(clock.currentTimeMillisUnsafe())}
            WHERE id = ${startCommandId(runId)} AND target_id = ${deviceId} AND outcome IS NULL`
          return row.bytes ?? new Uint8Array()
        })
      })
    })
  )
}

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
