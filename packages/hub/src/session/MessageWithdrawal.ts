/** Withdrawal of messages that no target has yet, when their session or their agent is closed to new turns. */
import type { AgentInstanceId, SessionId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { announced } from "../store/Notice.ts"
import { messageRows, MESSAGE_COLUMNS } from "./MessageRow.ts"
import { changeMessage } from "./MessageWrites.ts"
import { openTaskStates, waitingTaskStates } from "../store/StateLists.ts"

/** Cancels the tasks of the session's messages that have no run yet. Call it before the session is locked. */
export const cancelWaitingMessages = (
  sql: SqlClient.SqlClient,
  projectId: string,
  sessionId: SessionId,
  now: Date
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    announced(
      sql,
      "task",
      sql`
    UPDATE tasks SET state = 'cancelled', updated_at = ${now} WHERE id IN (
      SELECT id FROM tasks WHERE session_id = ${sessionId} AND project_id = ${projectId} AND message_id IS NOT NULL
        AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL ORDER BY id FOR UPDATE
    ) RETURNING id`
    )
  )

/** Withdraws pending messages without a task in progress: those of one agent, or of the whole session. Call it with the session locked. */
export const withdrawUndelivered = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sessionId: SessionId,
  recipient?: AgentInstanceId
) {
  const rows = yield* messageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages m
    WHERE session_id = ${sessionId} AND delivery = 'pending' AND to_run_id IS NULL
      ${recipient === undefined ? sql`` : sql`AND recipient = ${recipient}`}
      AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = m.task_id AND t.state IN ${openTaskStates(sql)})
    ORDER BY id`)
  for (const { id } of rows)
    yield* changeMessage(sql, sessionId, id, sql`delivery = 'withdrawn'`, sql`delivery = 'pending'`)
})
