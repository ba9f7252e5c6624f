/** Messages of a session, newest first. The output of runs is in their events, not here. */
import type { Proof } from "@corral/domain/access/Authorization"
import { type Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { MessageId, SessionId, UserId } from "@corral/domain/identity/Ids"
import type { CreateMessage, Message } from "@corral/domain/session/Message"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { MESSAGE_COLUMNS, messageOf, messageRows, type UserMessageRow } from "./MessageRow.ts"
import { lockActiveSession } from "./SessionLock.ts"
import { isRunOf } from "./SessionRuns.ts"

export class MessageStore extends Context.Service<
  MessageStore,
  {
    /** Messages before an id. */
    readonly list: (
      proof: Proof<"project.read">,
      sessionId: SessionId,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Message>, SqlError.SqlError>
    /** Adds a message of the caller. A run that it names must belong to the session. */
    readonly add: (
      proof: Proof<"session.write">,
      sessionId: SessionId,
      message: CreateMessage
    ) => Effect.Effect<Message, Conflict | PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/Messages") {
  static readonly layer = Layer.effect(
    MessageStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      return MessageStore.of({
        list: Effect.fnUntraced(function* ({ subject }, sessionId, before, limit) {
          const rows = yield* messageRows.all(sql`
            SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages
            WHERE session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${subject})
            ${before === undefined ? sql`` : sql`AND id < ${before}`}
            ORDER BY id DESC ${limitTo(sql, limit)}`)
          return rows.map(messageOf)
        }),

        add: Effect.fn("MessageStore.add")(function* (proof, sessionId, { runId, text }) {
          const now = new Date(clock.currentTimeMillisUnsafe())
          const at = yield* lockActiveSession(sql, proof, sessionId, now)
          if (runId !== undefined && !(yield* isRunOf(sql, sessionId, runId)))
            return yield* new PermissionDenied()
          const row: UserMessageRow = {
            id: mint<MessageId>("msg", at.getTime()),
            session_id: sessionId,
            user_id: proof.principal as UserId,
            agent_instance_id: null,
            text,
            run_id: runId ?? null,
            created_at: at
          }
          yield* sql`INSERT INTO messages ${sql.insert({ ...row })}`
          return messageOf(row)
        }, sql.withTransaction)
      })
    })
  )
}
