/**
 * Statements of a transaction that appends to logs: they lock its runs, store their events, and store what the events change in runs, approvals
 * and tasks. Each is one statement for all runs.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { announced, notify } from "../store/Notice.ts"
import { approvalDocumentRows } from "./ApprovalRow.ts"
import { PushedRun } from "./PushedRun.ts"
import { LOCKED_RUN_COLUMNS, lockedRunRows } from "./RunRow.ts"

/** Locks in the order of ids, not of the pushes, so that two transactions never deadlock. */
export const lockRuns = (
  sql: SqlClient.SqlClient,
  runIds: ReadonlyArray<RunId>
): Effect.Effect<ReadonlyMap<RunId, PushedRun>, SqlError.SqlError> =>
  Effect.map(
    lockedRunRows.all(sql`
      SELECT ${sql.literal(LOCKED_RUN_COLUMNS)} FROM runs
      WHERE id = ANY(${runIds}::text[]) ORDER BY id FOR NO KEY UPDATE`),
    (rows) => new Map(rows.map((row) => [row.id, new PushedRun(row)]))
  )

/** Stores the events, and what changed besides the length of the logs, which is rare compared to events. */
export const storeRuns = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<PushedRun>,
  at: Date
) {
  const changed = runs.filter(({ mirror }) => mirror.hasChanged)
  if (changed.length === 0) {
    yield* storeEvents(sql, runs, at)
    return
  }
  yield* storeChangedRuns(sql, runs, changed, at)
  yield* storeResolvedApprovals(sql, changed)
  const requested = changed.flatMap(({ mirror }) => [...mirror.requestedApprovals.keys()])
  yield* notify(sql, "approval", ...requested)
  yield* notify(sql, "runState", ...changed.filter(isShownChange).map(({ row }) => row.id))
})

/** For a statement with more parts. */
const insertedEvents = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>) => {
  const rows = runs.flatMap((run) => run.batches)
  return sql`
    INSERT INTO run_events (run_id, first_seq, last_seq, size, terminal, lines)
    SELECT * FROM unnest(
      ${rows.map(({ runId }) => runId)}::text[], ${rows.map(({ firstSeq }) => firstSeq)}::int[],
      ${rows.map(({ lastSeq }) => lastSeq)}::int[], ${rows.map(({ lines }) => lines.length)}::int[],
      ${rows.map(({ terminal }) => terminal)}::bool[], ${rows.map(({ lines }) => lines)}::text[])`
}

const storeEvents = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>, at: Date) => sql`
  WITH added AS (${insertedEvents(sql, runs)})
  UPDATE runs SET last_seq = m.last_seq, updated_at = ${at}
  FROM unnest(${runs.map(({ row }) => row.id)}::text[], ${runs.map(({ lastSeq }) => lastSeq)}::int[]) AS m (id, last_seq)
  WHERE runs.id = m.id`

const storeChangedRuns = (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<PushedRun>,
  changed: ReadonlyArray<PushedRun>,
  at: Date
) => {
  const others = runs.filter(({ mirror }) => !mirror.hasChanged)
  const tasks = changed.flatMap(({ mirror, row, taskState }) =>
    row.task_id === null || taskState === undefined
      ? []
      : [{ id: row.task_id, state: taskState, error: mirror.summary.error }]
  )
  const requested = changed.flatMap(({ mirror, row }) =>
    [...mirror.requestedApprovals.values()].map((approval) => ({ approval, row }))
  )
  const statement = sql`
    WITH added AS (${insertedEvents(sql, runs)}),
    moved AS (
      UPDATE runs SET last_seq = m.last_seq, updated_at = ${at}
      FROM unnest(${others.map(({ row }) => row.id)}::text[], ${others.map(({ lastSeq }) => lastSeq)}::int[]) AS m (id, last_seq)
      WHERE runs.id = m.id
    ),
    changed AS (
      UPDATE runs SET last_seq = c.last_seq, updated_at = ${at}, state = c.state, started = c.started,
        pending = string_to_array(c.pending, ' '), told = c.told, ended_at = CASE WHEN c.ended THEN ${at}::timestamptz END
      FROM unnest(
        ${changed.map(({ row }) => row.id)}::text[], ${changed.map(({ lastSeq }) => lastSeq)}::int[],
        ${changed.map(({ mirror }) => mirror.state)}::text[], ${changed.map(({ mirror }) => mirror.isStarted)}::bool[],
        ${changed.map(({ mirror }) => mirror.pending.join(" "))}::text[],
        ${changed.map(({ mirror }) => JSON.stringify(mirror.summary))}::text[],
        ${changed.map(({ mirror }) => mirror.isEnded)}::bool[]
      ) AS c (id, last_seq, state, started, pending, told, ended)
      WHERE runs.id = c.id
    ),
    requested AS (
      INSERT INTO approvals (id, run_id, project_id, target_id, state, approval)
      SELECT * FROM unnest(
        ${requested.map(({ approval }) => approval.id)}::text[], ${requested.map(({ row }) => row.id)}::text[],
        ${requested.map(({ row }) => row.project_id)}::text[], ${requested.map(({ row }) => row.target_id)}::text[],
        ${requested.map(({ approval }) => approval.state)}::text[],
        ${requested.map(({ approval }) => JSON.stringify(approval))}::text[])
      ON CONFLICT DO NOTHING
    )
    UPDATE tasks SET state = t.state, error = NULLIF(t.error, ''), updated_at = ${at}
    FROM unnest(
      ${tasks.map(({ id }) => id)}::text[], ${tasks.map(({ state }) => state)}::text[],
      ${tasks.map(({ error }) => (error === undefined ? "" : JSON.stringify(error)))}::text[]
    ) AS t (id, state, error)
    WHERE tasks.id = t.id AND tasks.state <> t.state RETURNING tasks.id`
  return announced(sql, "task", statement)
}

/** Whether lists of runs show the change. */
const isShownChange = ({ mirror, row }: PushedRun): boolean =>
  mirror.state !== row.state || mirror.summary.paused !== row.told.paused

/** Approvals that earlier transactions have stored. */
const storeResolvedApprovals = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changed: ReadonlyArray<PushedRun>
) {
  const resolved = new Map(
    changed.flatMap(({ mirror, row }) =>
      [...mirror.resolvedApprovals].map(([id, resolution]) => [id, { runId: row.id, resolution }] as const)
    )
  )
  if (resolved.size === 0) return
  const stored = yield* approvalDocumentRows.all(
    sql`SELECT approval, run_id FROM approvals WHERE id = ANY(${[...resolved.keys()]}::text[])`
  )
  const approvals = stored.flatMap(({ approval, run_id }): ReadonlyArray<Approval> => {
    const found = resolved.get(approval.id)
    return found?.runId === run_id ? [{ ...approval, ...found.resolution }] : []
  })
  yield* sql`
    UPDATE approvals SET state = a.state, approval = a.approval
    FROM unnest(
      ${approvals.map(({ id }) => id)}::text[], ${approvals.map(({ state }) => state)}::text[],
      ${approvals.map((approval) => JSON.stringify(approval))}::text[]
    ) AS a (id, state, approval)
    WHERE approvals.id = a.id`
  yield* notify(sql, "approval", ...approvals.map(({ id }) => id))
})
