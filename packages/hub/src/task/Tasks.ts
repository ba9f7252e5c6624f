/**
 * Tasks: work for one exact target. A task becomes one run on its target, waits for the target, or ends without a run. A task never runs on
 * another target.
 *
 * A `pending` task has a run id and is on its way; whether the Edge has it is unknown until the Edge answers. Later states follow the run's
 * log (`RunLog`). A task for an online target that no other one waits for gets its run in the transaction that stores it.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { PermissionDenied, type TargetOffline, type UnauthorizedTarget } from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, RunId, SessionId, TaskId, UserId } from "@corral/domain/identity/Ids"
import { ProjectRole } from "@corral/domain/project/Project"
import type { CreateRun, RunFailure } from "@corral/domain/run/Run"
import type { CreateTask, Task, TaskState } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { runDefaultsOf, runDefaultsRows } from "../project/ProjectRow.ts"
import type { OfferRefusal } from "../run/OfferRefusal.ts"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import { SessionProject } from "../run/SessionProject.ts"
import { storableLabel } from "../session/SessionAgentStore.ts"
import { type TaskOfSession, type TaskTurn, joinSession } from "../session/TaskInSession.ts"
import { announced, notify } from "../store/Notice.ts"
import { readableRows } from "../store/ReadableList.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { storedRows } from "../store/StoredRows.ts"
import { type ClaimedTask, claimedTaskOf } from "./ClaimedTask.ts"
import { checkReferences, expiryOf, findTargetRefusal } from "./TaskAdmission.ts"
import { type ClaimContext, claimTask, markDispatched, markRefused, markUnreachable } from "./TaskClaims.ts"
import { TASK_COLUMNS, type TaskRow, taskOf, taskRows, taskTargetRows } from "./TaskRow.ts"
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
      const context: TaskContext = {
        sql: yield* SqlClient.SqlClient,
        log: yield* RunLog,
        runs: yield* Runs,
        router: yield* EdgeRouter,
        sessions: yield* SessionProject,
        targets: yield* Targets,
        assignment: { listener: undefined },
        now: () => new Date(clock.currentTimeMillisUnsafe())
      }
      const { now, sql } = context
      const columns = sql.literal(TASK_COLUMNS)

      return Tasks.of({
        newId: Effect.sync(() => mint<TaskId>("tsk", clock.currentTimeMillisUnsafe())),
        create: (proof, id, task, turn) => sql.withTransaction(createTask(context, proof, id, task, turn)),

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

        onAssigned: (listener) => {
          context.assignment.listener = listener
        },
        claim: (targetId, after, open = []) => claimTask(context, targetId, after, open),
        markDispatched: (task) => markDispatched(context, task),
        markUnreachable: (task, error) => markUnreachable(context, task, error),
        markRefused: (task, error) => markRefused(context, task, error),
        findStalledTargets: Effect.withSpan(
          Effect.suspend(() => findStalledTargets(context)),
          "Tasks.findStalledTargets"
        ),

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

interface TaskContext extends ClaimContext {
  readonly router: EdgeRouter["Service"]
  readonly runs: Runs["Service"]
  readonly sessions: SessionProject["Service"]
  /** The dispatcher of this Hub. Without one, tasks wait for a claim. */
  readonly assignment: { listener: AssignmentListener | undefined }
}

const createTask = Effect.fn("Tasks.create")(function* (
  context: TaskContext,
  { principal, subject }: Proof<"task.create">,
  id: TaskId,
  task: CreateTask,
  givenTurn?: TaskTurn
) {
  const { now, sql, targets } = context
  const createdBy = principal as UserId
  const { expiresAt: _, onOffline = "fail", projectId, targetId, ...requested } = task
  // The proof covers this project only, regardless of the request's project.
  if (projectId !== subject) return yield* new PermissionDenied()
  const expiresAt = yield* expiryOf(task, now().getTime())
  yield* checkReferences(context.runs, context.sessions, task)
  const create: CreateRun = { ...(yield* findRunDefaults(sql, projectId)), ...requested }
  const { workspace } = task
  const refusal = yield* findTargetRefusal(targets, { author: createdBy, projectId, targetId, workspace })
  if (refusal !== undefined) return yield* refusal
  const state = yield* initialState(context, targetId, onOffline, create)
  const at = now()
  const waitsUntil = onOffline === "queue" ? expiresAt : null
  const place = { id, projectId, targetId, author: createdBy, create, onOffline, expiresAt: waitsUntil }
  const turn = givenTurn ?? (yield* turnInSession(context, place, task.sessionId))
  const identity = { created_by: createdBy, project_id: projectId, state, target_id: targetId }
  const runId = yield* findImmediateRun(context, identity, at)
  const row: TaskRow = {
    id,
    ...identity,
    session_id: task.sessionId ?? null,
    run_id: runId ?? null,
    on_offline: onOffline,
    expires_at: waitsUntil,
    request: create,
    error: null,
    traceparent: (yield* CurrentTraceparent) ?? null,
    agent_instance_id: turn?.agentInstanceId ?? null,
    place: turn?.place ?? null,
    message_id: turn?.messageId ?? null,
    requesters: turn?.requesters ?? [],
    attachments: turn?.attachments ?? null,
    created_at: at,
    updated_at: at
  }
  const attachments = turn?.attachments === undefined ? null : JSON.stringify(turn.attachments)
  const stored = { ...row, request: JSON.stringify(create), attachments, error: null }
  yield* sql`INSERT INTO tasks ${sql.insert(stored)}`
  if (runId !== undefined) yield* openImmediateRun(context, row, runId)
  yield* notify(sql, "task", id)
  return taskOf(row)
})

const findRunDefaults = (sql: SqlClient.SqlClient, projectId: ProjectId) =>
  Effect.map(
    runDefaultsRows.first(sql`SELECT background_ms, input_ttl_ms FROM projects WHERE id = ${projectId}`),
    (row) => (row === undefined ? {} : runDefaultsOf(row))
  )

const turnInSession = Effect.fnUntraced(function* (
  { now, sql, targets }: TaskContext,
  task: Omit<TaskOfSession, "sessionId" | "findLabel">,
  sessionId: SessionId | undefined
) {
  if (sessionId === undefined) return undefined
  const { agentId } = task.create
  const findLabel = Effect.map(targets.lastOffer(task.targetId), (offer) =>
    storableLabel(offer?.agents.find(({ id }) => id === agentId)?.label ?? agentId)
  )
  return yield* joinSession(sql, { ...task, sessionId, findLabel }, now())
})

const initialState = (
  { router }: TaskContext,
  targetId: DeviceId,
  onOffline: TaskRow["on_offline"],
  create: CreateRun
) => {
  const pending = Effect.as(router.checkOffer(targetId, create), "pending" as const)
  return onOffline === "queue"
    ? Effect.catchTag(pending, "TargetOffline", () => Effect.succeed("queued" as const))
    : pending
}

/** Younger tasks are still being dispatched. */
const STALLED_AFTER_MS = 10_000

const findStalledTargets = ({ now, sql }: TaskContext) => {
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
}

/** Receives a task with its run, after the commit. Must not block and must not throw. */
type AssignmentListener = (targetId: TaskRow["target_id"], task: ClaimedTask) => void

const readinessRows = storedRows(
  "tasks",
  Schema.Struct({ role: Schema.NullOr(ProjectRole), is_behind: Schema.Boolean })
)

type NewTask = Pick<TaskRow, "created_by" | "project_id" | "state" | "target_id">

/** The id of the run that a new task can start now. */
const findImmediateRun = Effect.fnUntraced(function* (
  { assignment, sql }: TaskContext,
  { created_by, project_id, state, target_id }: NewTask,
  at: Date
) {
  if (state !== "pending" || assignment.listener === undefined) return undefined
  const ready = yield* readinessRows.first(sql`
    SELECT
      (SELECT role FROM project_members WHERE project_id = ${project_id} AND user_id = ${created_by}) AS role,
      EXISTS (
        SELECT 1 FROM tasks WHERE target_id = ${target_id} AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL
      ) AS is_behind`)
  // The claim of such a task fails it with the reason.
  const isRefused = roleRefusal("task.create", ready?.role ?? undefined) !== undefined
  return ready === undefined || ready.is_behind || isRefused ? undefined : mint<RunId>("run", at.getTime())
})

/** Opens the log of the run, and passes the stored task to the dispatcher after the commit. */
const openImmediateRun = Effect.fnUntraced(function* (
  { assignment, log, sql }: TaskContext,
  row: TaskRow,
  runId: RunId
) {
  const { id: taskId, project_id: projectId, request: create, target_id: targetId } = row
  yield* log.open({ id: runId, projectId, targetId, taskId, create })
  yield* sql.afterCommit(Effect.sync(() => assignment.listener?.(targetId, claimedTaskOf(row, runId))))
})
