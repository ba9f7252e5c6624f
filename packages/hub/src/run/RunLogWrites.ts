/** Writes of pushes: to runs that the transaction has locked, or in one statement to runs whose rows are known. Notices follow the commit. */
import { RunId, TaskId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import type { DeviceLink } from "../device/DeviceRow.ts"
import { notify } from "../store/Notices.ts"
import { storedRows } from "../store/StoredRows.ts"
import { modelColumnOf, usageColumnsOf } from "../usage/LimitRow.ts"
import type { MirroredRequests } from "./MirroredRun.ts"
import { PushedRun } from "./PushedRun.ts"
import {
  type RequestDocuments,
  type RequestKind,
  type RequestTable,
  approvalTable,
  inputTable,
  requestTables
} from "./RequestTable.ts"
import { LOCKED_RUN_COLUMNS, lockedRunRows } from "./Runs.ts"

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

/** Stores what was pushed for runs that the transaction has locked. */
export const storeLocked = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<PushedRun>,
  at: Date
) {
  const resolved = yield* findResolved(sql, runs)
  const held = sql`held AS (SELECT unnest(${runs.map(({ row }) => row.id)}::text[]) AS id)`
  yield* store(sql, held, { runs, resolved, at })
})

/**
 * Stores what was pushed for runs whose logs end where `runs` says, over links that are the newest of their devices, and returns the ids of these
 * runs. Other runs are not changed. One statement: it locks devices and runs, in the order in which a transaction does.
 */
export const storeKnown = (
  sql: SqlClient.SqlClient,
  links: ReadonlyArray<DeviceLink>,
  pushes: StoredPushes
): Effect.Effect<ReadonlySet<RunId>, SqlError.SqlError> =>
  store(sql, lockedKnown(sql, links, pushes.runs), pushes)

/**
 * Common table expressions that lock these devices and runs; `held` has the ids of the runs.
 *
 * A locking subquery is executed for each row of the list, by key and in the order of the list. In a join of the table and the list, the generic
 * plan of a small table compares every row of the one with every row of the other.
 */
export const lockedKnown = (
  sql: SqlClient.SqlClient,
  links: ReadonlyArray<DeviceLink>,
  runs: ReadonlyArray<PushedRun>
) => sql`
  newest AS MATERIALIZED (
    SELECT d.id FROM (
      SELECT id, generation FROM unnest(
        ${links.map(({ deviceId }) => deviceId)}::text[], ${links.map(({ generation }) => generation)}::bigint[]
      ) AS link (id, generation) ORDER BY id
    ) AS link CROSS JOIN LATERAL (
      SELECT id FROM devices
      WHERE devices.id = link.id AND devices.generation = link.generation AND revoked_at IS NULL FOR SHARE
    ) AS d
  ), held AS MATERIALIZED (
    SELECT r.id FROM (
      SELECT known.id, last_seq, target_id FROM unnest(
        ${runs.map(({ row }) => row.id)}::text[], ${runs.map(({ row }) => row.last_seq)}::int[],
        ${runs.map(({ row }) => row.target_id)}::text[]
      ) AS known (id, last_seq, target_id) JOIN newest ON newest.id = known.target_id ORDER BY known.id
    ) AS known CROSS JOIN LATERAL (
      SELECT id FROM runs
      WHERE runs.id = known.id AND runs.last_seq = known.last_seq AND runs.target_id = known.target_id FOR NO KEY UPDATE
    ) AS r
  )`

const store = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  held: Parameters<typeof storePushes>[1],
  pushes: StoredPushes
): Effect.fn.Return<ReadonlySet<RunId>, SqlError.SqlError> {
  const rows = yield* storedPushRows.all(storePushes(sql, held, pushes))
  const stored = new Set(rows.flatMap((row) => (row.kind === "run" ? [row.id] : [])))
  const changed = pushes.runs.filter(({ mirror, row }) => mirror.hasChanged && stored.has(row.id))
  if (changed.length === 0) return stored
  for (const [kind, notice] of [
    ["approvals", "approval"],
    ["inputs", "input"]
  ] as const) {
    const requested = changed.flatMap(({ mirror }) => [...mirror[kind].requested.keys()])
    const resolved = pushes.resolved[kind].flatMap(({ id, runId }) => (stored.has(runId) ? [id] : []))
    yield* notify(sql, notice, ...requested, ...resolved)
  }
  const shown = changed.filter(({ mirror }) => mirror.isShownChange)
  yield* notify(sql, "runState", ...shown.map(({ row }) => row.id))
  yield* notify(sql, "task", ...rows.flatMap((row) => (row.kind === "task" ? [row.id] : [])))
  yield* notify(sql, "usage", ...new Set(changed.filter(hasNewUsage).map(({ row }) => row.project_id)))
  return stored
})

/** Requests that earlier transactions have stored and these events resolve. */
const findResolved = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>) =>
  Effect.all({
    approvals: findResolvedIn(sql, approvalTable, runs, ({ mirror }) => mirror.approvals),
    inputs: findResolvedIn(sql, inputTable, runs, ({ mirror }) => mirror.inputs)
  })

const findResolvedIn = Effect.fnUntraced(function* <
  Id extends string,
  Request extends { readonly id: Id },
  Resolution extends object
>(
  sql: SqlClient.SqlClient,
  { columns, name, rows }: RequestTable<Request>,
  runs: ReadonlyArray<PushedRun>,
  requestsOf: (run: PushedRun) => MirroredRequests<Id, Request, Resolution>
): Effect.fn.Return<ReadonlyArray<Request & Resolution>, SqlError.SqlError> {
  const resolutions = new Map(
    runs.flatMap((run) =>
      [...requestsOf(run).resolved].map(
        ([id, resolution]) => [id, { runId: run.row.id, resolution }] as const
      )
    )
  )
  if (resolutions.size === 0) return []
  const stored = yield* rows.all(
    sql`SELECT ${sql.literal(columns)} FROM ${sql.literal(name)} WHERE id = ANY(${[...resolutions.keys()]}::text[])`
  )
  return stored.flatMap(({ document, run_id }) => {
    const found = resolutions.get(document.id)
    return found?.runId === run_id ? [{ ...document, ...found.resolution }] : []
  })
})

/** What a statement stores. */
interface StoredPushes {
  readonly runs: ReadonlyArray<PushedRun>
  /** Requests that earlier statements have stored, in their state after the events. */
  readonly resolved: RequestDocuments
  readonly at: Date
}

/** A run that was held, or a task that has changed. */
const storedPushRows = storedRows(
  "runs, tasks",
  Schema.Union([
    Schema.Struct({ kind: Schema.Literal("run"), id: RunId }),
    Schema.Struct({ kind: Schema.Literal("task"), id: TaskId })
  ])
)

/** `held`: common table expressions, of which the last is `held`, with the ids of the runs. */
const storePushes = (
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
          followed AS (${changedTasks(sql, changed, at)}), booked AS (${bookedUsage(sql, changed)})
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

const hasNewUsage = ({ mirror, row }: PushedRun): boolean =>
  mirror.summary.usage !== row.told.usage || mirror.summary.model !== row.told.model

/**
 * A report has the whole use of its run so far, so a repeated one changes nothing. A report without a cost leaves the last one: a limit would
 * otherwise have again what the run has already cost.
 */
const bookedUsage = (sql: SqlClient.SqlClient, runs: ReadonlyArray<PushedRun>) => {
  const reported = runs.filter(hasNewUsage)
  const usages = reported.map(({ mirror }) => usageColumnsOf(mirror.summary.usage))
  return sql`
    UPDATE run_usage SET model = COALESCE(NULLIF(u.model, ''), run_usage.model), input_tokens = u.input_tokens, output_tokens = u.output_tokens,
      cached_tokens = u.cached_tokens, reasoning_tokens = u.reasoning_tokens, turns = u.turns, cost_micros = COALESCE(NULLIF(u.cost_micros, -1), run_usage.cost_micros),
      estimated = CASE WHEN u.cost_micros = -1 THEN run_usage.estimated ELSE u.estimated END, unpriced = u.cost_micros = -1
    FROM unnest(
      ${reported.map(({ row }) => row.id)}::text[],
      ${reported.map(({ mirror }) => modelColumnOf(mirror.summary.model))}::text[],
      ${usages.map((usage) => usage.input_tokens)}::bigint[], ${usages.map((usage) => usage.output_tokens)}::bigint[],
      ${usages.map((usage) => usage.cached_tokens)}::bigint[], ${usages.map((usage) => usage.reasoning_tokens)}::bigint[],
      ${usages.map(({ turns }) => turns)}::bigint[], ${usages.map((usage) => usage.cost_micros)}::bigint[],
      ${usages.map(({ estimated }) => estimated)}::bool[]
    ) AS u (id, model, input_tokens, output_tokens, cached_tokens, reasoning_tokens, turns, cost_micros, estimated)
      JOIN held ON held.id = u.id
    WHERE run_usage.run_id = u.id`
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
