/**
 * The rows of runs: a projection of the log, one snapshot each. Written with the events that move them, read for lists and for runs
 * that are not live.
 */
import type { AgentId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Run, RunStatus } from "@corral/domain/run/Run"
import { cannotContinue } from "@corral/domain/run/Continuation"
import { hasLiveState } from "../store/LiveState.ts"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

interface Row {
  readonly snapshot: string
}

export const insertRun = (run: Run): Write => [
  "INSERT INTO runs (id, session_id, state, created_at, ended_at, last_seq, snapshot) VALUES (?, ?, ?, ?, ?, ?, ?)",
  run.id,
  run.sessionId ?? null,
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

/** Runs that work where this one began, oldest first. `field`: of the run's snapshot, such as `$.worktree`, with the owner. */
export const runsOfOwner = (
  store: Store["Service"],
  owner: RunId,
  field: "$.worktree" | "$.layer.owner"
): ReadonlyArray<Run> =>
  store
    .all<Row>(
      "SELECT snapshot FROM runs WHERE id >= ? AND json_extract(snapshot, ?) = ? ORDER BY id",
      owner,
      field,
      owner
    )
    .map(parse)

/** Whether another run of the session has its log. */
export const hasOtherLog = (store: Store["Service"], id: RunId, sessionId: SessionId): boolean =>
  store.get(
    "SELECT id FROM runs WHERE id <> ? AND log = 'kept' AND session_id = ? LIMIT 1",
    id,
    sessionId
  ) !== undefined

/** Sessions with a run that has its log. */
export const sessionsWithLogs = (store: Store["Service"]): ReadonlySet<string> =>
  new Set(
    store
      .all<{ readonly id: string }>(
        "SELECT DISTINCT session_id AS id FROM runs WHERE log = 'kept' AND session_id IS NOT NULL"
      )
      .map(({ id }) => id)
  )

export interface RunsQuery {
  readonly before?: string | undefined
  readonly state?: RunStatus | undefined
  /** Also runs that another run replaces. */
  readonly replaced?: boolean | undefined
  readonly limit: number
}

/** Newest first (ids sort by time), those before `before`, at most `limit`. */
export const pageOfRuns = (
  store: Store["Service"],
  { before = "run_~", limit, replaced = false, state }: RunsQuery
): ReadonlyArray<Run> => {
  const conditions = [
    ...(state === undefined ? [] : ["state = ?"]),
    "id < ?",
    ...(replaced ? [] : ["json_extract(snapshot, '$.replacedBy') IS NULL"])
  ]
  return store
    .all<Row>(
      `SELECT snapshot FROM runs WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ?`,
      ...(state === undefined ? [] : [state]),
      before,
      limit
    )
    .map(parse)
}

/** Failed runs among which the one that a new run replaces is looked for: the new run follows at once. */
const LATEST_FAILURES = 50

/**
 * The row of the run that a new run replaces, with the id of the new one: the newest run of its session, which failed because it could not continue the
 * conversation. Its message begins again without the conversation.
 */
export const replacementRows = (
  store: Store["Service"],
  { id, resume, sessionId }: Pick<Run, "id" | "resume" | "sessionId">
): ReadonlyArray<Write> => {
  if (resume !== undefined || sessionId === undefined) return []
  const failed = store.get<Row>(
    `SELECT snapshot FROM (SELECT id, snapshot FROM runs WHERE state = 'failed' ORDER BY id DESC LIMIT ?)
     WHERE json_extract(snapshot, '$.sessionId') = ? ORDER BY id DESC LIMIT 1`,
    LATEST_FAILURES,
    sessionId
  )
  const last = failed === undefined ? undefined : parse(failed)
  if (last?.resume === undefined || last.error === undefined || !cannotContinue(last.error)) return []
  const later = store.get(
    "SELECT id FROM runs WHERE id > ? AND json_extract(snapshot, '$.sessionId') = ? LIMIT 1",
    last.id,
    sessionId
  )
  return later === undefined ? [updateRun({ ...last, replacedBy: id })] : []
}

/** Runs that no terminal event has ended: after a start, those that the predecessor left. */
export const unfinishedRuns = (store: Store["Service"]): ReadonlyArray<Run> =>
  store.all<Row>(`SELECT snapshot FROM runs WHERE ${hasLiveState} ORDER BY id`).map(parse)

/** Whether a run of the agent has not ended. */
export const hasLiveRun = (store: Pick<Store["Service"], "get">, agentId: AgentId): boolean =>
  store.get(
    `SELECT id FROM runs WHERE ${hasLiveState} AND json_extract(snapshot, '$.agentId') = ?`,
    agentId
  ) !== undefined
