/** Statements of a push: they lock its runs, store its events, and store what the events change in runs, approvals and tasks. */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { channels, noticeOf } from "../store/Notice.ts"
import { approvalDocumentRows } from "./ApprovalRow.ts"
import { PushedRun } from "./PushedRun.ts"
import { LOCKED_RUN_COLUMNS, lockedRunRows } from "./RunRow.ts"

/** Locks in the order of ids, not of the push, so that two pushes never deadlock. */
export const lockRuns = (
  sql: SqlClient.SqlClient,
  targetId: DeviceId,
  runIds: ReadonlyArray<RunId>
): Effect.Effect<ReadonlyMap<RunId, PushedRun>, SqlError.SqlError> =>
  Effect.map(
    lockedRunRows.all(sql`
      SELECT ${sql.literal(LOCKED_RUN_COLUMNS)} FROM runs
      WHERE id = ANY(${runIds}::text[]) AND target_id = ${targetId} ORDER BY id FOR NO KEY UPDATE`),
    (rows) => new Map(rows.map((row) => [row.id, new PushedRun(row)]))
  )

/** Stores the events of all runs in one statement and wakes their readers. */
export const storeEvents = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>, at: Date) => {
  const rows = runs.flatMap((run) => run.batches)
  // The session is part of the notice because some readers follow every run of a session.
  const notices = runs.map(({ row }) => (row.session_id === null ? row.id : `${row.id} ${row.session_id}`))
  return sql`
    WITH added AS (
      INSERT INTO run_events (run_id, first_seq, last_seq, size, terminal, lines)
      SELECT * FROM unnest(
        ${rows.map(({ runId }) => runId)}::text[], ${rows.map(({ firstSeq }) => firstSeq)}::int[],
        ${rows.map(({ lastSeq }) => lastSeq)}::int[], ${rows.map(({ lines }) => lines.length)}::int[],
        ${rows.map(({ terminal }) => terminal)}::bool[], ${rows.map(({ lines }) => lines)}::text[])
    ), moved AS (
      UPDATE runs SET last_seq = m.last_seq, updated_at = ${at}
      FROM unnest(${runs.map(({ row }) => row.id)}::text[], ${runs.map(({ lastSeq }) => lastSeq)}::int[]) AS m (id, last_seq)
      WHERE runs.id = m.id
    )
    SELECT pg_notify(${channels.run}, notice) FROM unnest(${notices}::text[]) AS notice`
}

/** Stores what changed besides the length of the log. Rare compared to events. */
export const storeRunChanges = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: PushedRun,
  at: Date
) {
  const { mirror, row } = run
  yield* sql`
    UPDATE runs SET state = ${mirror.state}, started = ${mirror.isStarted}, pending = ${mirror.pending}::text[],
      told = ${JSON.stringify(mirror.summary)}, ended_at = ${mirror.isEnded ? at : null}
    WHERE id = ${row.id} ${isShownChange(run) ? sql`RETURNING ${noticeOf(sql, "runState")}` : sql``}`
  yield* storeApprovals(sql, run)
  const { taskState } = run
  if (row.task_id === null || taskState === undefined) return
  const { error } = mirror.summary
  yield* sql`
    UPDATE tasks SET state = ${taskState}, error = ${error === undefined ? null : JSON.stringify(error)}, updated_at = ${at}
    WHERE id = ${row.task_id} AND state <> ${taskState} RETURNING ${noticeOf(sql, "task")}`
})

/** Whether lists of runs show the change. */
const isShownChange = ({ mirror, row }: PushedRun): boolean =>
  mirror.state !== row.state || mirror.summary.paused !== row.told.paused

const storeApprovals = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { mirror, row }: PushedRun) {
  for (const approval of mirror.requestedApprovals.values()) {
    const requested = {
      id: approval.id,
      run_id: row.id,
      project_id: row.project_id,
      target_id: row.target_id,
      state: approval.state,
      approval: JSON.stringify(approval)
    }
    yield* sql`
      INSERT INTO approvals ${sql.insert(requested)} ON CONFLICT DO NOTHING RETURNING ${noticeOf(sql, "approval")}`
  }
  for (const [id, resolution] of mirror.resolvedApprovals) {
    const stored = yield* approvalDocumentRows.first(
      sql`SELECT approval FROM approvals WHERE id = ${id} AND run_id = ${row.id}`
    )
    if (stored === undefined) continue
    const approval = { ...stored.approval, ...resolution }
    yield* sql`
      UPDATE approvals SET state = ${approval.state}, approval = ${JSON.stringify(approval)} WHERE id = ${id}
      RETURNING ${noticeOf(sql, "approval")}`
  }
})
