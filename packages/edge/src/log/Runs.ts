/**
 * The rows of runs: a projection of the log, one snapshot each. Written with the events that move them, read for lists and for runs
 * that are not live.
 */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Run, RunStatus } from "@corral/domain/run/Run"
import { hasLiveState } from "../store/LiveState.ts"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

interface Row {
  readonly snapshot: string
}

export const insertRun = (run: Run): Write => [
  "INSERT INTO runs (id, state, created_at, ended_at, last_seq, snapshot) VALUES (?, ?, ?, ?, ?, ?)",
  run.id,
  run.state,
  run.createdAt,
  run.endedAt ?? null,
  run.lastSeq,
  JSON.stringify(run)
]

export const updateRun = (run: Run): Write => [
  "UPDATE runs SET state = ?, ended_at = ?, last_seq = ?, snapshot = ? WHERE id = ?",
  run.state,
  run.endedAt ?? null,
  run.lastSeq,
  JSON.stringify(run),
  run.id
]

// Rows are written by this program from values of type Run and read back unchanged.
const parse = (row: Row): Run => parseStored<Run>(row.snapshot, "run")

export const findRun = (store: Store["Service"], id: RunId): Run | undefined => {
  const row = store.get<Row>("SELECT snapshot FROM runs WHERE id = ?", id)
  return row === undefined ? undefined : parse(row)
}

/** Whether another run of the session has its log. */
export const hasOtherLog = (store: Store["Service"], id: RunId, sessionId: SessionId): boolean =>
  store.get(
    "SELECT id FROM runs WHERE id <> ? AND log = 'kept' AND json_extract(snapshot, '$.sessionId') = ? LIMIT 1",
    id,
    sessionId
  ) !== undefined

/** Sessions with a run that has its log. */
export const sessionsWithLogs = (store: Store["Service"]): ReadonlySet<string> =>
  new Set(
    store
      .all<{ readonly id: string | null }>(
        "SELECT DISTINCT json_extract(snapshot, '$.sessionId') AS id FROM runs WHERE log = 'kept'"
      )
      .flatMap(({ id }) => id ?? [])
  )

/** Newest first (ids sort by time), those before `before`, at most `limit`. */
export const pageOfRuns = (
  store: Store["Service"],
  options: {
    readonly before?: string | undefined
    readonly state?: RunStatus | undefined
    readonly limit: number
  }
): ReadonlyArray<Run> => {
  const before = options.before ?? "run_~"
  const rows =
    options.state === undefined
      ? store.all<Row>(
          "SELECT snapshot FROM runs WHERE id < ? ORDER BY id DESC LIMIT ?",
          before,
          options.limit
        )
      : store.all<Row>(
          "SELECT snapshot FROM runs WHERE state = ? AND id < ? ORDER BY id DESC LIMIT ?",
          options.state,
          before,
          options.limit
        )
  return rows.map(parse)
}

/** Runs that no terminal event has ended: after a start, those that the predecessor left. */
export const unfinishedRuns = (store: Store["Service"]): ReadonlyArray<Run> =>
  store.all<Row>(`SELECT snapshot FROM runs WHERE ${hasLiveState} ORDER BY id`).map(parse)
