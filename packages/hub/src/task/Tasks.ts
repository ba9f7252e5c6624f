/**
 * Tasks: work for one exact target. A task becomes one run on its target, waits for the target, or ends without a run. A task never
 * runs on another target. Also the starts of runs that were sent and never answered.
 *
 * A `pending` task has a run id and is on its way; whether the Edge has it is unknown until the Edge answers. Later states follow the
 * run's log (`RunLog`). A task for an online target that no other one waits for gets its run in the transaction that stores it.
 * A task does not stay `pending` because its Edge is silent, and a failed start is not sent again. Whether the Edge has the run is
 * unknown: if its events arrive after all, `RunLog` accepts them, and run and task continue from there.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import type { BudgetExceeded, TargetOffline, UnauthorizedTarget } from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, RunId, SessionId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { RunFailure } from "@corral/domain/run/Run"
import type { CreateTask, Task, TaskState } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { startCommandId } from "../edges/CommandRequest.ts"
import { Targets } from "../edges/Targets.ts"
import type { OfferRefusal } from "../run/OfferRefusal.ts"
import { RunLog } from "../run/RunLog.ts"
import { runSeqRows } from "../run/Runs.ts"
import { SessionProject } from "../session/SessionTable.ts"
import type { TaskTurn } from "../session/TaskInSession.ts"
import { readableRows } from "../store/ListPage.ts"
import { announced, notify } from "../store/Notices.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { type CreatedGroup, type CreateGroup, createGroup } from "./GroupCreation.ts"
import { TaskClaims } from "./TaskClaims.ts"
import { type AssignmentListener, TaskCreation } from "./TaskCreation.ts"
import {
  assignedTaskRows,
  type ClaimedTask,
  TASK_COLUMNS,
  taskOf,
  taskRows,
  taskTargetRows
} from "./TaskRow.ts"

/** Time that an Edge has for its answer over one link. */
const ANSWER_MS = 60_000

export interface UnansweredStart {
  readonly id: TaskId
  readonly runId: RunId
  readonly targetId: DeviceId
}

/** A task with `onOffline: "queue"` waits while its device is offline, until it expires. */
const findUnansweredStarts = (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.Effect<ReadonlyArray<UnansweredStart>, SqlError.SqlError> =>
  Effect.map(
    assignedTaskRows.all(sql`
      SELECT t.id, t.run_id, t.target_id
      FROM tasks t JOIN edge_commands c ON c.id = 'start.' || t.run_id LEFT JOIN devices d ON d.id = t.target_id
      WHERE t.state = 'pending' AND c.outcome IS NULL AND c.generation IS NOT NULL
        AND c.sent_at < ${new Date(now.getTime() - ANSWER_MS)}
        AND (t.on_offline = 'fail' OR t.expires_at <= ${now} OR d.lease_until > ${now})`),
    (rows) => rows.map(({ id, run_id: runId, target_id: targetId }) => ({ id, runId, targetId }))
  )

const error = {
  code: "target_offline",
  message:
    "The device did not answer. Check that its Edge is running. If the Edge has the run, the run continues here."
}

/** Fails the run and its task. Takes locks in the same order as a push: first the run, then the task. */
const failUnansweredStart = (sql: SqlClient.SqlClient, { id, runId, targetId }: UnansweredStart, now: Date) =>
  sql.withTransaction(
    Effect.gen(function* () {
      const run = yield* runSeqRows.first(sql`SELECT last_seq FROM runs WHERE id = ${runId} FOR UPDATE`)
      if (run === undefined || run.last_seq > 0) return
      const details = { targetId, outcome: "unknown" }
      const outcome = JSON.stringify({ _tag: "Refused", error: { ...error, details } })
      const answered = yield* announced(
        sql,
        "commandDone",
        sql`
          UPDATE edge_commands SET outcome = ${outcome}, answered_at = ${now}
          WHERE id = ${startCommandId(runId)} AND outcome IS NULL RETURNING id`
      )
      if (answered.length === 0) return
      const summary = JSON.stringify({ error, endedAt: now.toISOString() })
      yield* sql`
        UPDATE runs SET state = 'failed', told = ${summary}, ended_at = ${now}, updated_at = ${now} WHERE id = ${runId}`
      yield* notify(sql, "runState", runId)
      yield* announced(
        sql,
        "task",
        sql`
          UPDATE tasks SET state = 'failed', error = ${JSON.stringify(error)}, updated_at = ${now}
          WHERE id = ${id} AND state = 'pending' RETURNING id`
      )
    })
  )

export interface TaskFilter {
  readonly projectId?: ProjectId | undefined
  readonly sessionId?: SessionId | undefined
  readonly state?: TaskState | undefined
}

type CreationFailure = BudgetExceeded | OfferRefusal | TargetOffline | UnauthorizedTarget | SqlError.SqlError

export class Tasks extends Context.Service<
  Tasks,
  {
    readonly newId: Effect.Effect<TaskId>
    /**
     * `pending` where the target is online, `queued` where it is offline and the task may wait. A refused task is not stored. A task that can
     * start now has a run, and the listener of `onAssigned` receives it after the commit. In a transaction of the caller, which a failure must roll back.
     */
    readonly create: (
      proof: Proof<"task.create">,
      id: TaskId,
      task: CreateTask,
      /** The turn of a message. Without it, a task with a session adds its prompt as a message. */
      turn?: TaskTurn
    ) => Effect.Effect<Task, CreationFailure>
    /** As `create`, for each of the task's candidates; all of them or none. `id` is that of the first one. */
    readonly createGroup: (
      proof: Proof<"task.create">,
      id: TaskId,
      task: CreateGroup
    ) => Effect.Effect<CreatedGroup, CreationFailure>
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
      const sessions = yield* SessionProject
      const targets = yield* Targets
      const claims = new TaskClaims(sql, yield* RunLog, targets, now)
      const columns = sql.literal(TASK_COLUMNS)

      return Tasks.of({
        newId: Effect.sync(() => mint<TaskId>("tsk", clock.currentTimeMillisUnsafe())),
        create: creation.create,

        createGroup: Effect.fn("Tasks.createGroup")(function* (proof, id, task) {
          return yield* createGroup({ sql, targets, sessions, creation, now }, proof, id, task)
        }, sql.withTransaction),

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
