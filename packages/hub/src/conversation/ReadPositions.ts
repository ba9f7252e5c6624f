/**
 * Read positions: how far each user has read each session, and how many messages of others came after.
 *
 * Guarantees: a position never moves back, also with concurrent requests. A count reads a bounded number of messages.
 * Does not: mark anything as read on its own, or show a user's position to others. Not audited: a position changes nothing for others.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { MessageId, type SessionId, type UserId } from "@corral/domain/identity/Ids"
import type { ReadPosition } from "@corral/domain/session/Session"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { unreadMessages } from "../session/SessionTable.ts"
import { storedRows } from "../store/StoredRows.ts"

const positionRows = storedRows("session_reads", Schema.Struct({ message_id: MessageId, unread: Schema.Int }))

export class ReadPositions extends Context.Service<
  ReadPositions,
  {
    readonly markRead: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      messageId: MessageId
    ) => Effect.Effect<ReadPosition, PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/ReadPositions") {
  static readonly layer = Layer.effect(
    ReadPositions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return ReadPositions.of({
        markRead: Effect.fn("ReadPositions.markRead")(function* (
          { principal, subject },
          sessionId,
          messageId
        ) {
          const reader = principal as UserId
          yield* sql`
            INSERT INTO session_reads (session_id, user_id, message_id, read_at)
            SELECT m.session_id, ${reader}, m.id, m.created_at FROM messages m JOIN sessions s ON s.id = m.session_id
            WHERE m.session_id = ${sessionId} AND m.id = ${messageId} AND s.project_id = ${subject}
            ON CONFLICT (session_id, user_id) DO UPDATE
            SET message_id = excluded.message_id, read_at = excluded.read_at
            WHERE session_reads.read_at < excluded.read_at`
          const position = yield* positionRows.first(sql`
            SELECT r.message_id, ${unreadMessages(sql, reader, "r.session_id")} AS unread
            FROM session_reads r JOIN messages m ON m.session_id = r.session_id AND m.id = ${messageId}
            WHERE r.session_id = ${sessionId} AND r.user_id = ${reader}`)
          // The session, of this project, has no such message.
          if (position === undefined) return yield* new PermissionDenied()
          return { sessionId, messageId: position.message_id, unread: position.unread }
        })
      })
    })
  )
}
