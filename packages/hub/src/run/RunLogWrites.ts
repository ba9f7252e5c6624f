/** Writes of pushes: to runs that the transaction has locked, or in one statement to runs whose rows are known. Notices follow the commit. */
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { DeviceLink } from "../device/DeviceLink.ts"
import { notify } from "../store/Notice.ts"
import type { MirroredRequests } from "./MirroredRequests.ts"
import { PushedRun } from "./PushedRun.ts"
import { approvalTable, inputTable, type RequestTable } from "./RequestTable.ts"
import { storedPushRows, storePushes, type StoredPushes } from "./RunLogStatement.ts"
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
