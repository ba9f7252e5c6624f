/**
 * Holds the queue of an agent after Stop or an error: the messages that wait then stay until a user continues or withdraws them.
 *
 * Guarantees: messages that are sent later, or again, do not wait for held ones.
 */
import { type AgentInstanceId, MessageId, type SessionId } from "@corral/domain/identity/Ids"
import type { HeldQueue } from "@corral/domain/run/AgentProfile"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { changeMessage } from "./MessageWrites.ts"

const waitingRows = storedRows("messages", Schema.Struct({ id: MessageId }))

/** Call it with the session locked. */
export const holdMessages = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  agentId: AgentInstanceId,
  held: HeldQueue
): Effect.fn.Return<void, SqlError.SqlError> {
  const isWaiting = sql`delivery = 'pending' AND send_when = 'next' AND task_id IS NULL AND NOT held`
  const waiting = yield* waitingRows.all(
    sql`SELECT id FROM messages WHERE session_id = ${sessionId} AND recipient = ${agentId} AND ${isWaiting} ORDER BY id`
  )
  if (waiting.length === 0) return
  yield* sql`
    UPDATE session_agents SET held = ${JSON.stringify(held)} WHERE session_id = ${sessionId} AND id = ${agentId}`
  for (const { id } of waiting)
    yield* changeMessage(sql, sessionId, id, sql`held = TRUE, waits_for = NULL`, isWaiting)
})
