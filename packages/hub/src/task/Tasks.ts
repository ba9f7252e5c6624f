/**
 * Tasks: work for one exact target. A task becomes a run there, or waits for the target, or comes to nothing; never a run elsewhere.
 *
 * A task that is `pending` has its run's id and is on its way; whether the Edge has it is not known until it answers. States after that
 * follow the run's log (`RunLog`).
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import {
  PermissionDenied,
  SchemaValidationFailed,
  type TargetOffline,
  UnauthorizedTarget,
  WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, RunId, SessionId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { ProjectRole } from "@corral/domain/project/Project"
import type { CreateRun, RunFailure } from "@corral/domain/run/Run"
import type { CreateTask, OnOffline, Task, TaskState } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { RunLog } from "../run/RunLog.ts"
import type { OfferRefusal } from "../run/OfferRefusal.ts"
import { Runs } from "../run/Runs.ts"
import { SessionProject } from "../run/SessionProject.ts"
import { Targets } from "../edges/Targets.ts"
import { startCommandId } from "../edges/Commands.ts"
import { failUnansweredStart, findUnansweredStarts } from "./UnansweredStarts.ts"
import { noticeOf } from "../store/Notice.ts"
import { readableRows } from "../store/ReadableList.ts"

export interface TaskFilter {
  readonly projectId?: ProjectId | undefined
  readonly sessionId?: SessionId | undefined
  readonly state?: TaskState | undefined
}

/** A task on its way to its target. */
export interface ClaimedTask {
  readonly id: TaskId
  readonly runId: RunId
  readonly create: CreateRun
  readonly onOffline: OnOffline
  /** Of the request that made it. */
  readonly traceparent: string | undefined
}

type NotAccepted = OfferRefusal | TargetOffline | UnauthorizedTarget

export class Tasks extends Context.Service<
  Tasks,
  {
    readonly newId: Effect.Effect<TaskId>
    /** `pending` where the target is there, `queued` where it is not and the task may wait. Nothing is kept of one that is refused. */
    readonly create: (
      proof: Proof<"task.create">,
      id: TaskId,
      task: CreateTask
    ) => Effect.Effect<Task, NotAccepted | SqlError.SqlError>
    /** Looked up before anyone's right to it is known: for the check, not for the caller. */
    readonly find: (id: TaskId) => Effect.Effect<Task | undefined, SqlError.SqlError>
    /** Newest first, those before `before`. That `filter.projectId` may be read has been found before. */
    readonly list: (
      reader: UserId,
      filter: TaskFilter,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Task>, SqlError.SqlError>
    /** Cancels one that has no run yet; `undefined` where it has one, or is over. */
    readonly cancelWaiting: (
      proof: Proof<"run.cancel">,
      id: TaskId
    ) => Effect.Effect<Task | undefined, SqlError.SqlError>
    /**
     * The next task of the target after that one, or the first: from now on `pending`, its run known to the Hub. Those whose maker may
     * not have them done there any more fail on the way.
     */
    readonly claim: (
      targetId: DeviceId,
      after: TaskId | undefined
    ) => Effect.Effect<ClaimedTask | undefined, SqlError.SqlError>
    /** The Edge has the run. */
    readonly markDispatched: (task: ClaimedTask) => Effect.Effect<void, SqlError.SqlError>
    /**
     * The Edge has not been reached: it waits again, or fails where it may not wait. The run is not known any more. Nothing where the start has
     * been sent after all.
     */
    readonly markUnreachable: (task: ClaimedTask, error: RunFailure) => Effect.Effect<void, SqlError.SqlError>
    /** The Edge does not take it. */
    readonly markRefused: (task: ClaimedTask, error: RunFailure) => Effect.Effect<void, SqlError.SqlError>
    /** Targets with tasks that nobody has brought there lately: theirs have come, or a Hub has ended on the way. */
    readonly findStalledTargets: Effect.Effect<ReadonlyArray<DeviceId>, SqlError.SqlError>
    /** Ends what has waited too long. */
    readonly expireQueued: Effect.Effect<void, SqlError.SqlError>
    /** Ends what was sent to an Edge that does not answer. If it has the run after all, its log says so, and the task follows it. */
    readonly failUnanswered: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Tasks") {
  static readonly layer = Layer.effect(
    Tasks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const log = yield* RunLog
      const runs = yield* Runs
      const router = yield* EdgeRouter
      const sessions = yield* SessionProject
      const targets = yield* Targets
      const millis = () => clock.currentTimeMillisUnsafe()
      const now = () => new Date(millis())
      const columns = sql.literal(COLUMNS)
      /** Whoever follows is told. */
      const told = noticeOf(sql, "task")

      /** That what it refers to is the project's own. */
      const referred = Effect.fnUntraced(function* (task: CreateTask) {
        const { projectId, resume, sessionId, targetId } = task
        if (sessionId !== undefined && (yield* sessions.find(sessionId)) !== projectId)
          return yield* new PermissionDenied()
        if (resume === undefined) return
        const earlier = yield* runs.locate(resume)
        if (earlier?.projectId !== projectId) return yield* new PermissionDenied()
        if (earlier.targetId !== targetId) return yield* unfit("resume", "Expected a run of the same target")
        if (earlier.agentId !== task.agentId)
          return yield* unfit("resume", "Expected a run of the same agent")
        if (earlier.workspace !== task.workspace)
          return yield* unfit("resume", "Expected a run in the same workspace")
      })

      const expiryOf = Effect.fnUntraced(function* ({ expiresAt, onOffline }: CreateTask) {
        if (expiresAt === undefined) return new Date(millis() + DEFAULT_WAIT_MS)
        const at = isoTime.test(expiresAt) ? Date.parse(expiresAt) : Number.NaN
        const ahead = at - millis()
        if (!(ahead <= MAX_WAIT_MS && (ahead > 0 || onOffline !== "queue")))
          return yield* unfit("expiresAt", "Expected an ISO 8601 time within the next 30 days")
        return new Date(at)
      })

      /** Why its target is not asked to start it after all: a task waits longer than a right may last. */
      const refusalOf = Effect.fnUntraced(function* (row: Row, { workspace }: CreateRun) {
        const { created_by: maker, project_id: projectId, run_id: runId, target_id: targetId } = row
        // The Edge may have that one already.
        if (runId !== null) return undefined
        const [member] = yield* sql<{ readonly role: ProjectRole }>`
          SELECT role FROM project_members WHERE project_id = ${projectId} AND user_id = ${maker}`
        const refusal = roleRefusal("task.create", member?.role)
        if (refusal !== undefined) return refusal
        if (!(yield* targets.canRoute(maker, targetId, projectId))) return new UnauthorizedTarget()
        const may = yield* targets.canUseWorkspace(maker, targetId, projectId, workspace)
        return may ? undefined : new WorkspaceOutsideAllowlist()
      })

      /** Leaves `pending`, unless the run's log says that the Edge has it after all. In the order in which a push takes its locks. */
      const withdraw = (
        task: ClaimedTask,
        state: TaskState,
        error: RunFailure | undefined,
        unless: Effect.Effect<boolean, SqlError.SqlError>
      ) =>
        sql.withTransaction(
          Effect.gen(function* () {
            const [run] = yield* sql<{ readonly last_seq: number }>`
              SELECT last_seq FROM runs WHERE id = ${task.runId} FOR UPDATE`
            if (run === undefined || run.last_seq > 0 || (yield* unless)) return
            const waits = yield* sql`
              UPDATE tasks SET state = ${state}, run_id = NULL, updated_at = ${now()},
                error = ${error === undefined ? null : JSON.stringify(error)}
              WHERE id = ${task.id} AND state = 'pending' AND run_id = ${task.runId} RETURNING id, ${told}`
            if (waits.length > 0) yield* sql`DELETE FROM runs WHERE id = ${task.runId}`
          })
        )

      /** Whether an Edge may have the start. One that nobody has is taken back here, and never sent. */
      const started = ({ runId }: ClaimedTask) =>
        Effect.gen(function* () {
          yield* sql`
            DELETE FROM edge_commands WHERE id = ${startCommandId(runId)} AND generation IS NULL AND outcome IS NULL`
          const sent = yield* sql`SELECT 1 FROM edge_commands WHERE id = ${startCommandId(runId)}`
          return sent.length > 0
        })

      return Tasks.of({
        newId: Effect.sync(() => mint<TaskId>("tsk", millis())),

        create: Effect.fnUntraced(function* ({ principal, subject }, id, task) {
          const createdBy = principal as UserId
          const { expiresAt: _, onOffline = "fail", projectId, targetId, ...create } = task
          // The proof is of this project, whatever else the request says.
          if (projectId !== subject) return yield* new PermissionDenied()
          const expiresAt = yield* expiryOf(task)
          yield* referred(task)
          if (!(yield* targets.canRoute(createdBy, targetId, projectId)))
            return yield* new UnauthorizedTarget()
          if (!(yield* targets.canUseWorkspace(createdBy, targetId, projectId, task.workspace)))
            return yield* new WorkspaceOutsideAllowlist()
          const ready = router.checkOffer(targetId, create).pipe(Effect.as("pending" as const))
          const state = yield* onOffline === "queue"
            ? Effect.catchTag(ready, "TargetOffline", () => Effect.succeed("queued" as const))
            : ready
          const at = now()
          const row: Row = {
            id,
            project_id: projectId,
            session_id: task.sessionId ?? null,
            target_id: targetId,
            run_id: null,
            created_by: createdBy,
            state,
            on_offline: onOffline,
            expires_at: onOffline === "queue" ? expiresAt : null,
            request: JSON.stringify(create),
            error: null,
            traceparent: (yield* CurrentTraceparent) ?? null,
            created_at: at,
            updated_at: at
          }
          yield* sql`INSERT INTO tasks ${sql.insert({ ...row })} RETURNING ${told}`
          return taskOf(row)
        }),

        find: (id) =>
          Effect.map(sql<Row>`SELECT ${columns} FROM tasks WHERE id = ${id}`, ([row]) => row && taskOf(row)),

        list: (reader, { projectId, sessionId, state }, before, limit) =>
          readableRows<Row>(sql, {
            table: "tasks",
            columns: COLUMNS,
            reader,
            projectId,
            conditions: [
              ...(sessionId === undefined ? [] : [sql`session_id = ${sessionId}`]),
              ...(state === undefined ? [] : [sql`state = ${state}`])
            ],
            order: "newest",
            after: before,
            limit
          }).pipe(Effect.map((rows) => rows.map(taskOf))),

        cancelWaiting: ({ subject }, id) =>
          Effect.map(
            sql<Row>`
              UPDATE tasks SET state = 'cancelled', updated_at = ${now()}
              WHERE id = ${id} AND project_id = ${subject} AND state IN ('pending', 'queued') AND run_id IS NULL
              RETURNING ${columns}, ${told}`,
            ([row]) => row && taskOf(row)
          ),

        claim: (targetId, after) =>
          sql.withTransaction(
            Effect.gen(function* () {
              const at = now()
              for (let last = after ?? ""; ;) {
                const [row] = yield* sql<Row>`
                  SELECT ${columns} FROM tasks
                  WHERE target_id = ${targetId} AND state IN ('pending', 'queued') AND id > ${last}
                    AND (state = 'pending' OR expires_at IS NULL OR expires_at > ${at})
                  ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`
                if (row === undefined) return undefined
                const { id, project_id: projectId, on_offline: onOffline } = row
                // Written by `create`.
                const create = JSON.parse(row.request) as CreateRun
                const refusal = yield* refusalOf(row, create)
                if (refusal === undefined) {
                  const runId = row.run_id ?? mint<RunId>("run", at.getTime())
                  yield* log.open({ id: runId, projectId, targetId, taskId: id, create })
                  yield* sql`
                    UPDATE tasks SET state = 'pending', run_id = ${runId}, updated_at = ${at} WHERE id = ${id}
                    RETURNING ${told}`
                  return { id, runId, create, onOffline, traceparent: row.traceparent ?? undefined }
                }
                const { code, message } = refusal
                yield* sql`
                  UPDATE tasks SET state = 'failed', error = ${JSON.stringify({ code, message })}, updated_at = ${at}
                  WHERE id = ${id} RETURNING ${told}`
                last = id
              }
            })
          ),

        markDispatched: ({ id }) =>
          // Its events may have come before the answer.
          Effect.asVoid(sql`
            UPDATE tasks SET state = 'dispatched', updated_at = ${now()} WHERE id = ${id} AND state = 'pending'
            RETURNING ${told}`),

        markUnreachable: (task, error) =>
          task.onOffline === "queue"
            ? withdraw(task, "queued", undefined, started(task))
            : withdraw(task, "failed", error, started(task)),

        markRefused: (task, error) => withdraw(task, "failed", error, Effect.succeed(false)),

        findStalledTargets: Effect.suspend(() => {
          const old = new Date(millis() - LEFT_BEHIND_MS)
          return sql<{ readonly target_id: DeviceId }>`
            SELECT target_id FROM tasks WHERE state = 'pending' AND updated_at < ${old}
            UNION
            SELECT d.id FROM devices d WHERE d.revoked_at IS NULL AND d.lease_until > ${now()} AND EXISTS (
              SELECT 1 FROM tasks t WHERE t.target_id = d.id AND t.state = 'queued' AND t.updated_at < ${old}
            )`
        }).pipe(Effect.map((rows) => rows.map(({ target_id }) => target_id))),

        expireQueued: Effect.suspend(
          () => sql`
            UPDATE tasks SET state = 'expired', updated_at = ${now()}
            WHERE state = 'queued' AND expires_at <= ${now()} RETURNING ${told}`
        ).pipe(Effect.asVoid),

        failUnanswered: Effect.suspend(() => findUnansweredStarts(sql, now())).pipe(
          Effect.flatMap((starts) =>
            Effect.forEach(starts, (start) => failUnansweredStart(sql, start, now()), { discard: true })
          )
        )
      })
    })
  )
}

/** Younger ones are somebody's who is at it. */
const LEFT_BEHIND_MS = 10_000
const DAY_MS = 86_400_000
/** How long a task waits that does not say. */
const DEFAULT_WAIT_MS = DAY_MS
const MAX_WAIT_MS = 30 * DAY_MS

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

const unfit = (path: string, message: string) =>
  new SchemaValidationFailed({ details: { issues: [{ path, message }] } })

const COLUMNS =
  "id, project_id, session_id, target_id, run_id, created_by, state, on_offline, expires_at, request, error, traceparent, created_at, updated_at"

interface Row {
  readonly id: TaskId
  readonly project_id: ProjectId
  readonly session_id: SessionId | null
  readonly target_id: DeviceId
  readonly run_id: RunId | null
  readonly created_by: UserId
  readonly state: TaskState
  readonly on_offline: OnOffline
  readonly expires_at: Date | null
  readonly request: string
  readonly error: string | null
  readonly traceparent: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

const taskOf = (row: Row): Task => {
  // Written by `create`.
  const { agentId, input, mode, workspace } = JSON.parse(row.request) as CreateRun
  return {
    id: row.id,
    projectId: row.project_id,
    ...(row.session_id === null ? {} : { sessionId: row.session_id }),
    state: row.state,
    targetId: row.target_id,
    workspace,
    agentId,
    mode,
    input,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    onOffline: row.on_offline,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
    ...(row.error === null ? {} : { error: JSON.parse(row.error) as RunFailure }),
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString()
  }
}
