/**
 * Starts of runs that were sent and never answered.
 *
 * Guarantees: a task does not stay `pending` because its Edge is silent, and a failed start is not sent again.
 * Does not know whether the Edge has the run. If its events arrive after all, `RunLog` accepts them, and run and task continue from there.
 */
import type { DeviceId, RunId, TaskId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { startCommandId } from "../edges/CommandRequest.ts"
import { runSeqRows } from "../run/RunRow.ts"
import { announced, notify } from "../store/Notice.ts"
import { assignedTaskRows } from "./TaskRow.ts"

/** Time that an Edge has for its answer over one link. */
const ANSWER_MS = 60_000

export interface UnansweredStart {
  readonly id: TaskId
  readonly runId: RunId
  readonly targetId: DeviceId
}

/** A task with `onOffline: "queue"` waits while its device is offline, until it expires. */
export const findUnansweredStarts = (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.Effect<ReadonlyArray<UnansweredStart>, SqlError.SqlError> =>
  Effect.map(
    assignedTaskRows.all(sql`
      SELECT t.id, t.run_id, t.target_id
      FROM tasks t JOIN edge_commands c ON c.id = 'start.' || t.run_id LEFT JOIN devices d ON d.id = t.target_id
      WHERE t.state = 'pending' AND c.outcome IS NULL AND c.generation IS NOT NULL
        AND c.sent_at < ${new Date(now.getTime() - ANSWER_MS)}
        AND (t.on_offline = 'fail' OR t.expires_at <= ${now} OR d.lease_until > ${now})`),
    (rows) => rows.map(({ id, run_id: runId, target_id: targetId }) => ({ id, runId, targetId }))
  )

const error = {
  code: "target_offline",
  message:
    "The device did not answer. Check that its Edge is running. If the Edge has the run, the run continues here."
}

/** Fails the run and its task. Takes locks in the same order as a push: first the run, then the task. */
export const failUnansweredStart = (
  sql: SqlClient.SqlClient,
  { id, runId, targetId }: UnansweredStart,
  now: Date
) =>
  sql.withTransaction(
    Effect.gen(function* () {
      const run = yield* runSeqRows.first(sql`SELECT last_seq FROM runs WHERE id = ${runId} FOR UPDATE`)
      if (run === undefined || run.last_seq > 0) return
      const details = { targetId, outcome: "unknown" }
      const outcome = JSON.stringify({ _tag: "Refused", error: { ...error, details } })
      const answered = yield* announced(
        sql,
        "commandDone",
        sql`
          UPDATE edge_commands SET outcome = ${outcome}, answered_at = ${now}
          WHERE id = ${startCommandId(runId)} AND outcome IS NULL RETURNING id`
      )
      if (answered.length === 0) return
      const summary = JSON.stringify({ error, endedAt: now.toISOString() })
      yield* sql`
        UPDATE runs SET state = 'failed', told = ${summary}, ended_at = ${now}, updated_at = ${now} WHERE id = ${runId}`
      yield* notify(sql, "runState", runId)
      yield* announced(
        sql,
        "task",
        sql`
          UPDATE tasks SET state = 'failed', error = ${JSON.stringify(error)}, updated_at = ${now}
          WHERE id = ${id} AND state = 'pending' RETURNING id`
      )
    })
  )
