/** Messages of a session, read. The output of runs is in their events, not here. */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { MessageId, SessionId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { MESSAGE_COLUMNS, messageOf, messageRows } from "./MessageRow.ts"

export class MessageStore extends Context.Service<
  MessageStore,
  {
    readonly get: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      id: MessageId
    ) => Effect.Effect<Message, PermissionDenied | SqlError.SqlError>
    /** Messages before an id, newest first. */
    readonly list: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, SqlError.SqlError>
    /** Messages with a later version, in the order of their versions. */
    readonly listChanges: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      afterVersion: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, SqlError.SqlError>
  }
>()("corral/hub/Messages") {
  static readonly layer = Layer.effect(
    MessageStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(MESSAGE_COLUMNS)
      const ofSession = (projectId: string, sessionId: SessionId) => sql`
        SELECT ${columns} FROM messages
        WHERE session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${projectId})`

      return MessageStore.of({
        get: Effect.fnUntraced(function* ({ subject }, sessionId, id) {
          const row = yield* messageRows.first(sql`${ofSession(subject, sessionId)} AND id = ${id}`)
          return row === undefined ? yield* new PermissionDenied() : messageOf(row)
        }),

        list: Effect.fnUntraced(function* ({ subject }, sessionId, before, limit) {
          const rows = yield* messageRows.all(sql`
            ${ofSession(subject, sessionId)} ${before === undefined ? sql`` : sql`AND id < ${before}`}
            ORDER BY id DESC ${limitTo(sql, limit)}`)
          return rows.map(messageOf)
        }),

        listChanges: Effect.fnUntraced(function* ({ subject }, sessionId, afterVersion, limit) {
          const rows = yield* messageRows.all(sql`
            ${ofSession(subject, sessionId)} AND version > ${afterVersion} ORDER BY version ${limitTo(sql, limit)}`)
          return rows.map(messageOf)
        })
      })
    })
  )
}
