/**
 * Files of messages for Edges: a device reads the files of the sessions whose runs it executes, while the run is not over.
 *
 * Guarantees: while an Edge reads, the start of its run does not count as unanswered.
 */
import { NotFound } from "@corral/domain/errors/Failures"
import type { AttachmentId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { startCommandId } from "../edges/CommandRequest.ts"
import { PIECE_BYTES } from "./ReceivedContent.ts"
import { pieceRows } from "./Uploads.ts"
import { endedRunStates } from "../store/StateLists.ts"

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
        read: Effect.fn("AttachmentReads.read")(function* (deviceId, runId, id, offset) {
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
