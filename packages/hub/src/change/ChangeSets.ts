/**
 * Change sets as the Hub mirrors them, with the decisions about them: what their Edges have pushed.
 *
 * Guarantees: a push changes only sets of runs of its device, in their project. A repeated push changes nothing, and a decision is added
 * once. A notice follows the commit.
 * Does not decide: the Edge does, and what a set contains now is read there.
 */
import { ChangeDecision, ChangeSet, type ChangeSetState } from "@corral/domain/edge-api/ChangeSet"
import { ChangeSetSummary, type HubChangeSet } from "@corral/domain/hub-api/HubRun"
import { ChangeSetId, DeviceId, ProjectId, RunId, SessionId, type UserId } from "@corral/domain/identity/Ids"
import type { ChangesAck, PushedChanges } from "@corral/domain/link/EdgeLink"
import { Context, Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { readableRows } from "../store/ListPage.ts"
import { notify } from "../store/Notices.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

/** The document of a set has no decisions: they are rows. */
const StoredSet = ChangeSet.mapFields(Struct.omit(["decisions"]))

const changeSetRows = storedRows(
  "change_sets",
  Schema.Struct({
    id: ChangeSetId,
    project_id: ProjectId,
    target_id: DeviceId,
    change_set: jsonColumn(StoredSet),
    decisions: Schema.Array(jsonColumn(ChangeDecision))
  })
)
const storedSetRows = storedRows("change_sets", Schema.Struct({ change_set: jsonColumn(StoredSet) }))
const summaryRows = storedRows(
  "change_sets",
  Schema.Struct({ run_id: RunId, change_set: jsonColumn(ChangeSetSummary) })
)
const placeRows = storedRows("change_sets", Schema.Struct({ run_id: RunId }))
const setOfRunRows = storedRows("change_set_runs", Schema.Struct({ set_id: ChangeSetId }))
const pushedRunRows = storedRows(
  "runs",
  Schema.Struct({ project_id: ProjectId, session_id: Schema.NullOr(SessionId) })
)

/** Of a set that is not the target's, with its run. */
type PushedAck = ChangesAck & { readonly runId?: RunId }

const decodeSet = Schema.decodeUnknownOption(Schema.fromJsonString(ChangeSet))

/** Decisions of a set in an answer. The Edge reports as many. */
const MAX_DECISIONS = 100

/** Of the table by its own name, so that it fits in each statement. */
const COLUMNS = `id, project_id, target_id, change_set, ARRAY(
  SELECT d.decision FROM change_decisions d WHERE d.set_id = change_sets.id ORDER BY d.id DESC LIMIT ${MAX_DECISIONS}
) AS decisions`

const hubChangeSetOf = ({
  change_set,
  decisions,
  project_id: projectId,
  target_id: targetId
}: Effect.Success<ReturnType<typeof changeSetRows.all>>[number]): HubChangeSet => ({
  ...change_set,
  decisions,
  projectId,
  targetId
})

export interface ChangeSetFilter {
  readonly projectId?: ProjectId | undefined
  readonly sessionId?: SessionId | undefined
  readonly changeSetId?: ChangeSetId | undefined
  /** `open`: a person can decide now. Without sets that were written directly or whose run is live. */
  readonly state?: ChangeSetState | undefined
}

export class ChangeSets extends Context.Service<
  ChangeSets,
  {
    /** Sets before `before`, newest first. The caller has checked that the reader may read `filter.projectId`. */
    readonly list: (
      reader: UserId,
      filter: ChangeSetFilter,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HubChangeSet>, SqlError.SqlError>
    /** The newest run of the session's set. Needed to check the caller's rights, so it must not reach the caller before. */
    readonly findRun: (
      sessionId: SessionId,
      id: ChangeSetId
    ) => Effect.Effect<RunId | undefined, SqlError.SqlError>
    /** The set that the run works in; `undefined` before its Edge has reported it. */
    readonly findSet: (runId: RunId) => Effect.Effect<ChangeSetId | undefined, SqlError.SqlError>
    /** The sets of these runs, by run, as their Edges last reported them. */
    readonly summaries: (
      runIds: ReadonlyArray<RunId>
    ) => Effect.Effect<ReadonlyMap<RunId, ChangeSetSummary>, SqlError.SqlError>
    /** Nothing of the set is undecided: its target has removed it. Call it in a transaction. */
    readonly markRemoved: (id: ChangeSetId) => Effect.Effect<void, SqlError.SqlError>
    /** Stores the sets in the caller's transaction. Returns one acknowledgement per set, with the run of a set that is not the target's. */
    readonly push: (
      targetId: DeviceId,
      sets: ReadonlyArray<PushedChanges>
    ) => Effect.Effect<ReadonlyArray<PushedAck>, SqlError.SqlError>
  }
>()("corral/hub/ChangeSets") {
  static readonly layer = Layer.effect(
    ChangeSets,
    Effect.map(SqlClient.SqlClient, (sql) =>
      ChangeSets.of({
        list: Effect.fnUntraced(function* (
          reader,
          { changeSetId, projectId, sessionId, state },
          before,
          limit
        ) {
          const conditions = [
            ...(sessionId === undefined ? [] : [sql`session_id = ${sessionId}`]),
            ...(changeSetId === undefined ? [] : [sql`id = ${changeSetId}`]),
            ...(state === undefined ? [] : [state === "open" ? sql`waits` : sql`state = ${state}`])
          ]
          const page = { reader, projectId, conditions, order: "newest", after: before, limit } as const
          const rows = yield* changeSetRows.all(
            readableRows(sql, { table: "change_sets", columns: COLUMNS, ...page })
          )
          return rows.map(hubChangeSetOf)
        }),

        findRun: Effect.fnUntraced(function* (sessionId, id) {
          const row = yield* placeRows.first(
            sql`SELECT run_id FROM change_sets WHERE id = ${id} AND session_id = ${sessionId}`
          )
          return row?.run_id
        }),

        findSet: Effect.fnUntraced(function* (runId) {
          const row = yield* setOfRunRows.first(
            sql`SELECT set_id FROM change_set_runs WHERE run_id = ${runId}`
          )
          return row?.set_id
        }),

        summaries: Effect.fnUntraced(function* (runIds) {
          const rows = yield* summaryRows.all(sql`
            SELECT c.run_id, s.change_set FROM change_set_runs c JOIN change_sets s ON s.id = c.set_id
            WHERE c.run_id = ANY(${runIds}::text[])`)
          return new Map(rows.map(({ change_set, run_id }) => [run_id, change_set]))
        }),

        markRemoved: Effect.fn("ChangeSets.markRemoved")(function* (id) {
          const row = yield* storedSetRows.first(
            sql`SELECT change_set FROM change_sets WHERE id = ${id} FOR NO KEY UPDATE`
          )
          if (row === undefined) return
          const counts = { fileCount: 0, additions: 0, deletions: 0, apart: 0, conflicts: 0, ignored: [] }
          const set = JSON.stringify({ ...row.change_set, ...counts, state: "decided", live: false })
          yield* sql`
            UPDATE change_sets SET state = 'decided', waits = false, file_count = 0, change_set = ${set} WHERE id = ${id}`
          yield* notify(sql, "changes", id)
        }),

        push: Effect.fn("ChangeSets.push")(function* (targetId, sets) {
          const acks = new Map<PushedChanges, PushedAck>()
          // In the order of ids, so that two transactions never deadlock.
          for (const pushed of sets.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))) {
            const { id } = pushed
            const set = Option.filter(decodeSet(pushed.set), (set) => set.id === id)
            if (Option.isNone(set)) acks.set(pushed, { id, refused: "schema_validation_failed" })
            else if (yield* storeSet(sql, targetId, set.value)) acks.set(pushed, { id })
            else acks.set(pushed, { id, refused: "permission_denied", runId: set.value.runId })
          }
          const stored = [...acks.values()].filter(({ refused }) => refused === undefined)
          yield* notify(sql, "changes", ...stored.map(({ id }) => id))
          return sets.flatMap((pushed) => acks.get(pushed) ?? [])
        })
      })
    )
  )
}

/** Returns whether the set is the device's. */
const storeSet = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  targetId: DeviceId,
  { decisions, ...set }: ChangeSet
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const { direct, fileCount, id, live, runId, state } = set
  // The run stays until the transaction ends.
  const newest = yield* pushedRunRows.first(sql`
    SELECT project_id, session_id FROM runs WHERE id = ${runId} AND target_id = ${targetId} FOR KEY SHARE`)
  if (newest === undefined) return false
  const { project_id: projectId, session_id: sessionId } = newest
  const waits = state === "open" && !direct && !live
  const row = {
    id,
    project_id: projectId,
    run_id: runId,
    session_id: sessionId,
    target_id: targetId,
    state,
    direct,
    waits,
    file_count: fileCount,
    change_set: JSON.stringify(set)
  }
  const stored = yield* sql`
    INSERT INTO change_sets ${sql.insert(row)}
    ON CONFLICT (id) DO UPDATE SET run_id = excluded.run_id, session_id = excluded.session_id, state = excluded.state,
      direct = excluded.direct, waits = excluded.waits, file_count = excluded.file_count, change_set = excluded.change_set
    WHERE change_sets.target_id = excluded.target_id AND change_sets.project_id = excluded.project_id RETURNING id`
  if (stored.length === 0) return false
  yield* direct ? storeRun(sql, id, runId) : storeRuns(sql, id, runId)
  const isReopened = yield* storeDecisions(sql, id, decisions)
  // After that, only later runs have requesters of what is undecided.
  if (state === "decided" && !live)
    yield* sql`UPDATE change_sets SET settled_run_id = ${runId} WHERE id = ${id}`
  else if (isReopened) yield* sql`UPDATE change_sets SET settled_run_id = NULL WHERE id = ${id}`
  return true
})

/** A set that was written directly has one run. */
const storeRun = (sql: SqlClient.SqlClient, setId: ChangeSetId, runId: RunId) => sql`
  INSERT INTO change_set_runs (run_id, set_id) VALUES (${runId}, ${setId})
  ON CONFLICT (run_id) DO UPDATE SET set_id = excluded.set_id WHERE change_set_runs.set_id <> excluded.set_id`

/** The run, and those that it resumes, up to one that is stored. The Edge keeps a layer or a worktree for them. */
const storeRuns = (sql: SqlClient.SqlClient, setId: ChangeSetId, runId: RunId) => sql`
  WITH RECURSIVE chain (id, target_id, project_id, resume) AS (
    SELECT id, target_id, project_id, made::json->>'resume' FROM runs WHERE id = ${runId}
    UNION
    SELECT r.id, r.target_id, r.project_id, r.made::json->>'resume'
    FROM chain JOIN runs r ON r.id = chain.resume AND r.target_id = chain.target_id AND r.project_id = chain.project_id
    WHERE NOT EXISTS (SELECT 1 FROM change_set_runs s WHERE s.run_id = r.id AND s.set_id = ${setId})
  )
  INSERT INTO change_set_runs (run_id, set_id) SELECT id, ${setId} FROM chain
  ON CONFLICT (run_id) DO UPDATE SET set_id = excluded.set_id WHERE change_set_runs.set_id <> excluded.set_id`

/** Adds decisions, and the undo of earlier ones, which changes nothing else of them: what an Edge leaves out stays. Returns whether an undo is new. */
const storeDecisions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  setId: ChangeSetId,
  decisions: ReadonlyArray<ChangeDecision>
): Effect.fn.Return<boolean, SqlError.SqlError> {
  if (decisions.length === 0) return false
  const ids = decisions.map(({ id }) => id)
  const earlier = yield* decisionIdRows.all(
    sql`SELECT id FROM change_decisions WHERE id = ANY(${ids}::text[]) AND set_id = ${setId}`
  )
  yield* sql`
    INSERT INTO change_decisions (id, set_id, decision)
    SELECT id, ${setId}, decision FROM unnest(
      ${ids}::text[], ${decisions.map((decision) => JSON.stringify(decision))}::text[]
    ) AS pushed (id, decision)
    ON CONFLICT (id) DO UPDATE SET decision = excluded.decision
    WHERE change_decisions.set_id = excluded.set_id
      AND change_decisions.decision::json->>'reversedBy' IS DISTINCT FROM excluded.decision::json->>'reversedBy'`
  const stored = new Set<string>(earlier.map(({ id }) => id))
  return decisions.some(({ id, kind }) => kind === "undo" && !stored.has(id))
})

const decisionIdRows = storedRows("change_decisions", Schema.Struct({ id: ChangeDecision.fields.id }))
