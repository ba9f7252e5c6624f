/** What a pass of deliveries finds due, in one statement: most passes find nothing, and a task wakes several of them. */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { lostTaskStates } from "../store/StateLists.ts"

const DueWork = Schema.Struct({
  /** Pending messages whose tasks have ended without a run. */
  ended: Schema.Boolean,
  /** Messages that have expired before their turn. */
  expired: Schema.Boolean,
  /** Further input to runs in progress. */
  inputs: Schema.Boolean,
  /** Messages without a task. Their agents may be busy. */
  turns: Schema.Boolean
})
export type DueWork = typeof DueWork.Type

const dueWorkRows = storedRows("messages, tasks", DueWork)

const nothing: DueWork = { ended: false, expired: false, inputs: false, turns: false }

export const findDueWork = (sql: SqlClient.SqlClient, now: Date): Effect.Effect<DueWork, SqlError.SqlError> =>
  Effect.map(
    dueWorkRows.first(sql`
      SELECT coalesce(bool_or(t.id IS NOT NULL), false) AS ended,
        coalesce(bool_or(m.task_id IS NULL AND m.send_when = 'next' AND m.expires_at <= ${now}), false) AS expired,
        coalesce(bool_or(m.send_when = 'now' AND m.to_run_id IS NOT NULL), false) AS inputs,
        coalesce(bool_or(m.task_id IS NULL AND m.send_when = 'next' AND NOT m.held), false) AS turns
      FROM messages m LEFT JOIN tasks t ON t.id = m.task_id AND t.state IN ${lostTaskStates(sql)}
      WHERE m.delivery = 'pending'`),
    (row) => row ?? nothing
  )
