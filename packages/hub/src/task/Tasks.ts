/**
 * Tasks: work for one exact target. A task becomes one run on its target, waits for the target, or ends without a run. A task never runs on
 * another target.
 *
 * A `pending` task has a run id and is on its way; whether the Edge has it is unknown until the Edge answers. Later states follow the run's
 * log (`RunLog`). A task for an online target that no other one waits for gets its run in the transaction that stores it.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import type { TargetOffline, UnauthorizedTarget } from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, SessionId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { RunFailure } from "@corral/domain/run/Run"
import type { CreateTask, Task, TaskState } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Targets } from "../edges/Targets.ts"
import type { OfferRefusal } from "../run/OfferRefusal.ts"
import { RunLog } from "../run/RunLog.ts"
import type { TaskTurn } from "../session/TaskInSession.ts"
import { announced } from "../store/Notice.ts"
import { readableRows } from "../store/ReadableList.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { type ClaimedTask, TASK_COLUMNS, taskOf, taskRows, taskTargetRows } from "./TaskRow.ts"
import { TaskClaims } from "./TaskClaims.ts"
import { type AssignmentListener, TaskCreation } from "./TaskCreation.ts"
import { failUnansweredStart, findUnansweredStarts } from "./UnansweredStarts.ts"

export interface TaskFilter {
  readonly projectId?: ProjectId | undefined
  readonly sessionId?: SessionId | undefined
  readonly state?: TaskState | undefined
}

type CreationFailure = OfferRefusal | TargetOffline | UnauthorizedTarget | SqlError.SqlError

export class Tasks extends Context.Service<
  Tasks,
  {
    readonly newId: Effect.Effect<TaskId>
    /**
     * `pending` where the target is online, `queued` where it is offline and the task may wait. A refused task is not stored. A task that can
     * start now has a run, and the listener of `onAssigned` receives it after the commit.
     */
    readonly create: (
      proof: Proof<"task.create">,
      id: TaskId,
      task: CreateTask,
      /** The turn of a message. Without it, a task with a session adds its prompt as a message. */
      turn?: TaskTurn
    ) => Effect.Effect<Task, CreationFailure>
    /** Reads a task before the caller's rights are known. Use the result for that check, not as a response. */
    readonly find: (id: TaskId) => Effect.Effect<Task | undefined, SqlError.SqlError>
    /** Tasks before `before`, newest first. The caller has checked that the reader may read `filter.projectId`. */
    readonly list: (
      reader: UserId,
      filter: TaskFilter,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Task>, SqlError.SqlError>
    /** Cancels a task without a run. `undefined` where the task has a run or has ended. */
    readonly cancelWaiting: (
      proof: Proof<"run.cancel">,
      id: TaskId
    ) => Effect.Effect<Task | undefined, SqlError.SqlError>
    /** Sets the listener of tasks that have received their run when they were created. */
    readonly onAssigned: (listener: AssignmentListener) => void
    /** The next task of the target after `after` that is not in `open`. It becomes `pending` and its run is known to the Hub. */
    readonly claim: (
      targetId: DeviceId,
      after: TaskId | undefined,
      open?: ReadonlyArray<TaskId>
    ) => Effect.Effect<ClaimedTask | undefined, SqlError.SqlError>
    /** The Edge has the run. */
    readonly markDispatched: (task: ClaimedTask) => Effect.Effect<void, SqlError.SqlError>
    /** The start was not sent: the task is queued again, or fails where it must not wait. */
    readonly markUnreachable: (task: ClaimedTask, error: RunFailure) => Effect.Effect<void, SqlError.SqlError>
    /** The Edge refused the start. Returns whether the task is in the queue again. */
    readonly markRefused: (task: ClaimedTask, error: RunFailure) => Effect.Effect<boolean, SqlError.SqlError>
    /** Targets whose tasks wait for a dispatch that stopped: the target came online, or a Hub ended during the dispatch. */
    readonly findStalledTargets: Effect.Effect<ReadonlyArray<DeviceId>, SqlError.SqlError>
    /** Ends the queued tasks that have expired. */
    readonly expireQueued: Effect.Effect<void, SqlError.SqlError>
    /** Fails the tasks whose Edge does not answer the start. If the Edge has the run after all, the task follows the run's log. */
    readonly failUnanswered: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Tasks") {
  static readonly layer = Layer.effect(
    Tasks,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())
      const sql = yield* SqlClient.SqlClient
      const creation = yield* TaskCreation.make(now)
      const claims = new TaskClaims(sql, yield* RunLog, yield* Targets, now)
      const columns = sql.literal(TASK_COLUMNS)

      return Tasks.of({
        newId: Effect.sync(() => mint<TaskId>("tsk", clock.currentTimeMillisUnsafe())),
        create: (proof, id, task, turn) => sql.withTransaction(creation.create(proof, id, task, turn)),

        find: Effect.fnUntraced(function* (id) {
          const row = yield* taskRows.first(sql`SELECT ${columns} FROM tasks WHERE id = ${id}`)
          return row && taskOf(row)
        }),

        list: Effect.fnUntraced(function* (reader, { projectId, sessionId, state }, before, limit) {
          const conditions = [
            ...(sessionId === undefined ? [] : [sql`session_id = ${sessionId}`]),
            ...(state === undefined ? [] : [sql`state = ${state}`])
          ]
          const page = { reader, projectId, conditions, order: "newest", after: before, limit } as const
          const rows = yield* taskRows.all(
            readableRows(sql, { table: "tasks", columns: TASK_COLUMNS, ...page })
          )
          return rows.map(taskOf)
        }),

        cancelWaiting: Effect.fn("Tasks.cancelWaiting")(function* ({ subject }, id) {
          const cancelled = sql`
            UPDATE tasks SET state = 'cancelled', updated_at = ${now()}
            WHERE id = ${id} AND project_id = ${subject} AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL
            RETURNING ${columns}`
          const row = yield* taskRows.first(announced(sql, "task", cancelled))
          return row && taskOf(row)
        }),

        onAssigned: (listener) => creation.onAssigned(listener),
        claim: (targetId, after, open = []) => claims.claim(targetId, after, open),
        markDispatched: claims.markDispatched,
        markUnreachable: claims.markUnreachable,
        markRefused: claims.markRefused,

        findStalledTargets: Effect.suspend(() => {
          const stalledBefore = new Date(now().getTime() - STALLED_AFTER_MS)
          return Effect.map(
            taskTargetRows.all(sql`
              SELECT target_id FROM tasks WHERE state = 'pending' AND updated_at < ${stalledBefore}
              UNION
              SELECT d.id FROM devices d WHERE d.linked AND d.revoked_at IS NULL AND d.lease_until > ${now()} AND EXISTS (
                SELECT 1 FROM tasks t WHERE t.target_id = d.id AND t.state = 'queued' AND t.updated_at < ${stalledBefore}
              )`),
            (rows) => rows.map(({ target_id }) => target_id)
          )
        }).pipe(Effect.withSpan("Tasks.findStalledTargets")),

        expireQueued: Effect.suspend(() =>
          announced(
            sql,
            "task",
            sql`
              UPDATE tasks SET state = 'expired', updated_at = ${now()}
              WHERE state = 'queued' AND expires_at <= ${now()} RETURNING id`
          )
        ).pipe(Effect.asVoid, Effect.withSpan("Tasks.expireQueued")),

        failUnanswered: Effect.suspend(() => findUnansweredStarts(sql, now())).pipe(
          Effect.flatMap((starts) =>
            Effect.forEach(starts, (start) => failUnansweredStart(sql, start, now()), { discard: true })
          ),
          Effect.withSpan("Tasks.failUnanswered")
        )
      })
    })
  )
}

/** Younger tasks are still being dispatched. */
const STALLED_AFTER_MS = 10_000
