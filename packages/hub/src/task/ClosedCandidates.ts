/**
 * What follows for candidates that were not continued: their work is stopped, also if a Hub ended before it could, and a week later what is undecided
 * of their changes is removed by their targets.
 *
 * Guarantees: each pass begins with what the one before left. A target that is offline or does not answer is asked again later, and delays no other one.
 * A command that is repeated has no further effect.
 */
import {
  AgentInstanceId,
  ChangeSetId,
  DeviceId,
  ProjectId,
  type RequestId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { ChangeSets } from "../change/ChangeSets.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { limitTo } from "../store/ListPage.ts"
import { announced, notify } from "../store/Notices.ts"
import { doSharedWork } from "../store/SharedWork.ts"
import { openTaskStates, waitingTaskStates } from "../store/StateLists.ts"
import { storedRows } from "../store/StoredRows.ts"
import { CLOSED_MS } from "./TaskGroups.ts"

/** Actor of a removal: no user causes it. */
const SYSTEM = "system"

const ROWS = 100
/** Targets that are asked at the same time. */
const TARGETS = 16

const liveRows = storedRows(
  "tasks, task_groups",
  Schema.Struct({
    task_id: TaskId,
    run_id: RunId,
    target_id: DeviceId,
    project_id: ProjectId,
    group_id: TaskGroupId,
    continued_by: UserId
  })
)

const dueRows = storedRows(
  "task_group_candidates",
  Schema.Struct({
    task_id: TaskId,
    group_id: TaskGroupId,
    session_id: SessionId,
    agent_instance_id: AgentInstanceId,
    project_id: ProjectId,
    target_id: DeviceId
  })
)
type DueRow = Effect.Success<ReturnType<typeof dueRows.all>>[number]

const closedSetRows = storedRows(
  "tasks, change_set_runs",
  Schema.Struct({ run_id: RunId, set_id: Schema.NullOr(ChangeSetId) })
)
type ClosedSet = Effect.Success<ReturnType<typeof closedSetRows.all>>[number]

/** The id of the group: no request causes the action. */
const requestOf = (groupId: TaskGroupId) => groupId as string as RequestId

interface TargetRow {
  readonly task_id: TaskId
  readonly target_id: DeviceId
}

interface AskedTargets<Row, E, R, VE, VR> {
  /** The next due rows whose task id is greater, in the order of the ids. An empty page ends the pass. */
  readonly page: (after: string) => Effect.Effect<ReadonlyArray<Row>, E, R>
  /** Returns whether the target has answered. */
  readonly ask: (row: Row) => Effect.Effect<boolean, VE, VR>
  /** For the log: what failed with a row. */
  readonly failure: string
}

/** Asks the targets of all due rows. One that does not answer is not asked again in this pass. */
const askTargets = Effect.fnUntraced(function* <Row extends TargetRow, E, R, VE, VR>({
  ask,
  failure,
  page
}: AskedTargets<Row, E, R, VE, VR>): Effect.fn.Return<void, E, R | VR> {
  const silent = new Set<DeviceId>()
  const askOne = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    for (const row of rows) {
      if (silent.has(row.target_id)) return
      const hasAnswered = yield* Effect.catchCause(ask(row), (cause) =>
        Effect.as(Effect.logError(failure, { task: row.task_id }, cause), true)
      )
      if (!hasAnswered) silent.add(row.target_id)
    }
  })
  for (let after = ""; ;) {
    const rows = yield* page(after)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.task_id
    const byTarget = Map.groupBy(rows, ({ target_id }) => target_id)
    yield* Effect.forEach(byTarget.values(), askOne, { concurrency: TARGETS, discard: true })
  }
})

/** Stops the work of candidates that are closed. Most of it has been stopped when the other one was continued. */
const stopClosed = Effect.fn("ClosedCandidates.stopClosed")(function* (now: Date) {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit
  const router = yield* EdgeRouter
  // A task returns to the queue if its target went offline before it had the start.
  yield* announced(
    sql,
    "task",
    sql`
      UPDATE tasks SET state = 'cancelled', updated_at = ${now}
      WHERE state IN ${waitingTaskStates(sql)} AND run_id IS NULL AND agent_instance_id IN (
        SELECT agent_instance_id FROM task_group_candidates WHERE closed_at IS NOT NULL AND removed_at IS NULL
      ) RETURNING id`
  )
  yield* askTargets({
    page: (after) =>
      liveRows.all(sql`
        SELECT t.id AS task_id, t.run_id, t.target_id, t.project_id, g.id AS group_id, g.continued_by
        FROM task_group_candidates c JOIN task_groups g ON g.id = c.group_id
          JOIN tasks t ON t.agent_instance_id = c.agent_instance_id
          JOIN devices d ON d.id = t.target_id AND d.revoked_at IS NULL AND d.lease_until > ${now}
        WHERE c.closed_at IS NOT NULL AND c.removed_at IS NULL AND t.state IN ${openTaskStates(sql)}
          AND t.run_id IS NOT NULL AND t.id > ${after}
        ORDER BY t.id ${limitTo(sql, ROWS)}`),
    ask: ({ continued_by: by, group_id, project_id: projectId, run_id: runId, target_id, task_id }) =>
      router.cancel(target_id, { runId, by }).pipe(
        Effect.andThen(
          audit.record({
            action: "run.cancel",
            resource: task_id,
            projectId,
            actor: by,
            requestId: requestOf(group_id),
            outcome: "allowed",
            code: null
          })
        ),
        Effect.as(true),
        // It has ended, or is asked again later.
        Effect.catchTags({
          Overloaded: () => Effect.succeed(true),
          RunNotCancellable: () => Effect.succeed(true),
          TargetOffline: () => Effect.succeed(false)
        })
      ),
    failure: "failed to stop a candidate"
  })
})

/** Removes what is undecided of candidates that were closed a week ago. */
const removeClosed = Effect.fn("ClosedCandidates.removeClosed")(function* (now: Date) {
  const sql = yield* SqlClient.SqlClient
  const router = yield* EdgeRouter
  const record = yield* recordRemoval
  const closedBefore = new Date(now.getTime() - CLOSED_MS)
  yield* askTargets({
    page: (after) =>
      dueRows.all(sql`
        SELECT c.task_id, c.group_id, g.session_id, c.agent_instance_id, t.project_id, t.target_id
        FROM task_group_candidates c JOIN task_groups g ON g.id = c.group_id JOIN tasks t ON t.id = c.task_id
          JOIN devices d ON d.id = t.target_id AND d.revoked_at IS NULL
        WHERE c.closed_at < ${closedBefore} AND c.removed_at IS NULL AND c.task_id > ${after}
          AND (d.lease_until > ${now} OR NOT EXISTS (
            SELECT 1 FROM tasks w
            WHERE w.session_id = g.session_id AND w.agent_instance_id = c.agent_instance_id AND w.run_id IS NOT NULL
          ))
        ORDER BY c.task_id ${limitTo(sql, ROWS)}`),
    ask: Effect.fnUntraced(
      function* (row: DueRow) {
        const sets = yield* findClosedSets(sql, row)
        for (const { run_id: runId } of sets)
          yield* router
            .discardChanges(row.target_id, { runId, by: SYSTEM })
            .pipe(Effect.catchTag("NotFound", () => Effect.void))
        yield* record(row, sets, now)
        return true
      },
      // A run is live, or the target is asked again later.
      Effect.catchTags({
        Conflict: () => Effect.succeed(true),
        Overloaded: () => Effect.succeed(true),
        TargetOffline: () => Effect.succeed(false)
      })
    ),
    failure: "failed to remove the changes of a candidate"
  })
})

/** The change sets of the candidate, each with its newest run, and the runs of which no set is reported. */
const findClosedSets = (
  sql: SqlClient.SqlClient,
  { agent_instance_id, session_id }: Pick<DueRow, "agent_instance_id" | "session_id">
) =>
  closedSetRows.all(sql`
    SELECT max(t.run_id) AS run_id, r.set_id FROM tasks t LEFT JOIN change_set_runs r ON r.run_id = t.run_id
    WHERE t.session_id = ${session_id} AND t.agent_instance_id = ${agent_instance_id} AND t.run_id IS NOT NULL
    GROUP BY COALESCE(r.set_id, t.run_id), r.set_id ORDER BY run_id`)

const recordRemoval = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit
  const sets = yield* ChangeSets
  return (
    { group_id, project_id: projectId, task_id }: DueRow,
    closed: ReadonlyArray<ClosedSet>,
    now: Date
  ) =>
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`UPDATE task_group_candidates SET removed_at = ${now} WHERE task_id = ${task_id}`
        const setIds = closed.flatMap(({ set_id }) => set_id ?? [])
        for (const id of setIds) yield* sets.markRemoved(id)
        yield* notify(sql, "task", task_id)
        for (const resource of setIds.length === 0 ? [task_id] : setIds)
          yield* audit.record({
            action: "changes.remove",
            resource,
            projectId,
            actor: SYSTEM,
            requestId: requestOf(group_id),
            outcome: "allowed",
            code: null
          })
      })
    )
})

/** One pass. */
export const settleClosedCandidates = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const now = new Date(clock.currentTimeMillisUnsafe())
  yield* stopClosed(now)
  yield* removeClosed(now)
})

/** One of the Hubs makes a pass each minute. */
export const closedCandidatesLayer = Layer.effectDiscard(
  doSharedWork("candidates", "1 minute", settleClosedCandidates)
)
