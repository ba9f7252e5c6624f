/** Messages of a session, newest first. The output of runs is in their events, not here. */
import type { Proof } from "@corral/domain/access/Authorization"
import { type Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { AgentInstanceId, MessageId, RunId, SessionId, UserId } from "@corral/domain/identity/Ids"
import type { CreateMessage, Message } from "@corral/domain/session/Message"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { openSession } from "./OpenSession.ts"
import { isRunOf } from "./SessionRuns.ts"
import { limitTo } from "../store/Limit.ts"

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
        list: ({ subject }, sessionId, before, limit) =>
          sql<MessageRow>`
            SELECT id, session_id, user_id, agent_instance_id, text, run_id, created_at FROM messages
            WHERE session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${subject})
            ${before === undefined ? sql`` : sql`AND id < ${before}`}
            ORDER BY id DESC ${limitTo(sql, limit)}`.pipe(Effect.map((rows) => rows.map(messageOf))),

        add: (proof, sessionId, { runId, text }) =>
          sql.withTransaction(
            Effect.gen(function* () {
              const at = yield* openSession(sql, proof, sessionId, new Date(clock.currentTimeMillisUnsafe()))
              if (runId !== undefined && !(yield* isRunOf(sql, sessionId, runId)))
                return yield* new PermissionDenied()
              const row: MessageRow = {
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
            })
          )
      })
    })
  )
}

interface MessageRow {
  readonly id: MessageId
  readonly session_id: SessionId
  /** The author is one of the two. */
  readonly user_id: UserId | null
  readonly agent_instance_id: AgentInstanceId | null
  readonly text: string
  readonly run_id: RunId | null
  readonly created_at: Date
}

const messageOf = (row: MessageRow): Message => ({
  id: row.id,
  sessionId: row.session_id,
  author:
    row.user_id === null
      ? // The table holds exactly one of the two.
        { kind: "agent", agentInstanceId: row.agent_instance_id as AgentInstanceId }
      : { kind: "user", userId: row.user_id },
  text: row.text,
  ...(row.run_id === null ? {} : { runId: row.run_id }),
  createdAt: row.created_at.toISOString()
})
