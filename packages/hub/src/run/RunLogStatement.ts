/**
 * The statement that stores what was pushed for several runs: events, and what they change in runs, approvals, questions and tasks. Only runs that it holds
 * are changed; `held` is the part of the statement that names them.
 */
import type { SqlClient, Statement } from "effect/sql"
import { Schema } from "effect"
import { RunId, TaskId } from "@corral/domain/identity/Ids"
import { storedRows } from "../store/StoredRows.ts"
import type { PushedRun } from "./PushedRun.ts"
import { type RequestDocuments, type RequestKind, requestTables } from "./RequestTable.ts"

/** What a statement stores. */
export interface StoredPushes {
  readonly runs: ReadonlyArray<PushedRun>
  /** Requests that earlier statements have stored, in their state after the events. */
  readonly resolved: RequestDocuments
  readonly at: Date
}

/** A run that was held, or a task that has changed. */
export const storedPushRows = storedRows(
  "runs, tasks",
  Schema.Union([
    Schema.Struct({ kind: Schema.Literal("run"), id: RunId }),
    Schema.Struct({ kind: Schema.Literal("task"), id: TaskId })
  ])
)

/** `held`: common table expressions, of which the last is `held`, with the ids of the runs. */
export const storePushes = (
  sql: SqlClient.SqlClient,
  held: Statement.Fragment,
  { at, resolved, runs }: StoredPushes
) => {
  const changed = runs.filter(({ mirror }) => mirror.hasChanged)
  const unchanged = runs.filter(({ mirror }) => !mirror.hasChanged)
  const events = sql`added AS (${insertedEvents(sql, runs)}), moved AS (${movedRuns(sql, unchanged, at)})`
  // Rare compared to events.
  return changed.length === 0
    ? sql`WITH ${held}, ${events} SELECT 'run' AS kind, id FROM held`
    : sql`
        WITH ${held}, ${events}, changed AS (${changedRuns(sql, changed, at)}),
          requested AS (${insertedRequests(sql, "approvals", changed)}),
          resolved AS (${changedRequests(sql, "approvals", resolved, runs)}),
          asked AS (${insertedRequests(sql, "inputs", changed)}),
          answered AS (${changedRequests(sql, "inputs", resolved, runs)}),
          followed AS (${changedTasks(sql, changed, at)})
        SELECT 'run' AS kind, id FROM held UNION ALL SELECT 'task', id FROM followed`
}

const insertedEvents = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>) => {
  const rows = runs.flatMap((run) => run.batches)
  return sql`
    INSERT INTO run_events (run_id, first_seq, last_seq, size, terminal, lines)
    SELECT e.run_id, first_seq, last_seq, size, terminal, lines FROM unnest(
      ${rows.map(({ runId }) => runId)}::text[], ${rows.map(({ firstSeq }) => firstSeq)}::int[],
      ${rows.map(({ lastSeq }) => lastSeq)}::int[], ${rows.map(({ lines }) => lines.length)}::int[],
      ${rows.map(({ terminal }) => terminal)}::bool[], ${rows.map(({ lines }) => lines)}::text[]
    ) AS e (run_id, first_seq, last_seq, size, terminal, lines) JOIN held ON held.id = e.run_id`
}

const movedRuns = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>, at: Date) => sql`
  UPDATE runs SET last_seq = m.last_seq, updated_at = ${at}
  FROM unnest(${runs.map(({ row }) => row.id)}::text[], ${runs.map(({ lastSeq }) => lastSeq)}::int[]) AS m (id, last_seq)
    JOIN held ON held.id = m.id
  WHERE runs.id = m.id`

const changedRuns = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>, at: Date) => {
  const rows = runs.map(({ mirror }) => mirror.columns)
  return sql`
    UPDATE runs SET last_seq = c.last_seq, updated_at = ${at}, state = c.state, started = c.started,
      pending = string_to_array(c.pending, ' '), told = c.told, pending_inputs = string_to_array(c.pending_inputs, ' '),
      turn = c.turn, idle = c.idle, work = NULLIF(c.work, ''), ended_at = CASE WHEN c.ended THEN ${at}::timestamptz END
    FROM unnest(
      ${runs.map(({ row }) => row.id)}::text[], ${runs.map(({ lastSeq }) => lastSeq)}::int[],
      ${rows.map(({ state }) => state)}::text[], ${rows.map(({ started }) => started)}::bool[],
      ${rows.map(({ pending }) => pending.join(" "))}::text[],
      ${rows.map(({ told }) => JSON.stringify(told))}::text[],
      ${rows.map((row) => row.pending_inputs.join(" "))}::text[],
      ${rows.map(({ turn }) => turn)}::int[], ${rows.map(({ idle }) => idle)}::bool[],
      ${rows.map(({ work }) => (work === null ? "" : JSON.stringify(work)))}::text[],
      ${runs.map(({ mirror }) => mirror.isEnded)}::bool[]
    ) AS c (id, last_seq, state, started, pending, told, pending_inputs, turn, idle, work, ended) JOIN held ON held.id = c.id
    WHERE runs.id = c.id`
}

const insertedRequests = (sql: SqlClient.SqlClient, kind: RequestKind, runs: ReadonlyArray<PushedRun>) => {
  const { column, name } = requestTables[kind]
  const requested = runs.flatMap(({ mirror, row }) =>
    [...mirror[kind].requested.values()].map((request) => ({ request, row }))
  )
  return sql`
    INSERT INTO ${sql.literal(name)} (id, run_id, project_id, target_id, state, ${sql.literal(column)})
    SELECT a.* FROM unnest(
      ${requested.map(({ request }) => request.id)}::text[], ${requested.map(({ row }) => row.id)}::text[],
      ${requested.map(({ row }) => row.project_id)}::text[], ${requested.map(({ row }) => row.target_id)}::text[],
      ${requested.map(({ request }) => request.state)}::text[],
      ${requested.map(({ request }) => JSON.stringify(request))}::text[]
    ) AS a (id, run_id, project_id, target_id, state, document) JOIN held ON held.id = a.run_id
    ON CONFLICT DO NOTHING`
}

const changedRequests = (
  sql: SqlClient.SqlClient,
  kind: RequestKind,
  resolved: RequestDocuments,
  runs: ReadonlyArray<PushedRun>
) => {
  const { column, name } = requestTables[kind]
  const table = sql.literal(name)
  const ids = new Set(runs.map(({ row }) => row.id))
  const ofRuns = [...resolved[kind]].filter(({ runId }) => ids.has(runId))
  return sql`
    UPDATE ${table} SET state = a.state, ${sql.literal(column)} = a.document
    FROM unnest(
      ${ofRuns.map(({ id }) => id)}::text[], ${ofRuns.map(({ runId }) => runId)}::text[],
      ${ofRuns.map(({ state }) => state)}::text[], ${ofRuns.map((request) => JSON.stringify(request))}::text[]
    ) AS a (id, run_id, state, document) JOIN held ON held.id = a.run_id
    WHERE ${table}.id = a.id AND ${table}.run_id = a.run_id`
}

const changedTasks = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>, at: Date) => {
  const tasks = runs.flatMap(({ mirror, row, taskState }) =>
    row.task_id === null || taskState === undefined
      ? []
      : [{ id: row.task_id, runId: row.id, state: taskState, error: mirror.summary.error }]
  )
  return sql`
    UPDATE tasks SET state = t.state, error = NULLIF(t.error, ''), updated_at = ${at}
    FROM unnest(
      ${tasks.map(({ id }) => id)}::text[], ${tasks.map(({ runId }) => runId)}::text[],
      ${tasks.map(({ state }) => state)}::text[],
      ${tasks.map(({ error }) => (error === undefined ? "" : JSON.stringify(error)))}::text[]
    ) AS t (id, run_id, state, error) JOIN held ON held.id = t.run_id
    WHERE tasks.id = t.id AND tasks.state <> t.state RETURNING tasks.id`
}
