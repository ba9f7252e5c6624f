/**
 * Dispatch of tasks, as statements: a claim gives a task its run, and the answer of the Edge moves it on.
 *
 * Guarantees: a claimed task is `pending` and its run is known to the Hub. A task returns to the queue only while its start was never sent
 * and its run has no events.
 */
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { DeviceId, RunId, TaskId } from "@corral/domain/identity/Ids"
import type { RunFailure } from "@corral/domain/run/Run"
import type { TaskState } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { Effect, Result } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { startCommandId } from "../edges/CommandRequest.ts"
import type { Targets } from "../edges/Targets.ts"
import { isPlanTask } from "../run/PlanTask.ts"
import type { RunLog } from "../run/RunLog.ts"
import { reservedRequest, runRequestRows, runSeqRows } from "../run/Runs.ts"
import { contributorRows } from "../session/MessageStore.ts"
import { plannedTransaction } from "../store/Database.ts"
import { announced, notify } from "../store/Notices.ts"
import { findLimitedProject, reserveStart } from "../usage/Reservations.ts"
import { type ClaimedTask, TASK_COLUMNS, type TaskRow, claimedTaskOf, taskRows } from "./TaskRow.ts"
import { failureOf, findDispatchRefusal } from "./TaskAdmission.ts"
import { waitingTaskStates } from "../store/StateLists.ts"

export class TaskClaims {
  private readonly sql: SqlClient.SqlClient
  private readonly log: RunLog["Service"]
  private readonly targets: Targets["Service"]
  private readonly now: () => Date

  constructor(
    sql: SqlClient.SqlClient,
    log: RunLog["Service"],
    targets: Targets["Service"],
    now: () => Date
  ) {
    this.sql = sql
    this.log = log
    this.targets = targets
    this.now = now
  }

  /**
   * Claims the next task of the target after `after`, without those whose starts are open. Tasks whose author has lost a right, and those that
   * exceed a limit of their project, fail on the way.
   */
  readonly claim = Effect.fn("TaskClaims.claim")(
    { self: this },
    function* (
      targetId: DeviceId,
      after: TaskId | undefined,
      open: ReadonlyArray<TaskId>
    ): Effect.fn.Return<ClaimedTask | undefined, SqlError.SqlError> {
      for (let last = after; ;) {
        const visited = yield* this.visitNext(targetId, last, open)
        if (visited === undefined || Result.isSuccess(visited)) return visited?.success
        last = visited.failure
      }
    }
  )

  /**
   * Claims or fails the next task, and returns its run or the id of the failed one. Each in its transaction: the limits of its project are locked
   * until the end, so a transaction that went on to a task of another project could deadlock with one that does so in the other order. The project
   * is locked with the task: its removal waits until it has all tasks, or has the project and is left alone.
   */
  private readonly visitNext = Effect.fnUntraced(
    { self: this },
    function* (
      targetId: DeviceId,
      after: TaskId | undefined,
      open: ReadonlyArray<TaskId>
    ): Effect.fn.Return<Result.Result<ClaimedTask, TaskId> | undefined, SqlError.SqlError> {
      const { now, sql } = this
      const at = now()
      const row = yield* taskRows.first(sql`
        SELECT tasks.* FROM tasks JOIN projects ON projects.id = tasks.project_id
        WHERE tasks.target_id = ${targetId} AND tasks.state IN ${waitingTaskStates(sql)} AND tasks.id > ${after ?? ""}
          AND tasks.id <> ALL(${open}::text[])
          AND (tasks.state = 'pending' OR tasks.expires_at IS NULL OR tasks.expires_at > ${at})
        ORDER BY tasks.id LIMIT 1 FOR UPDATE OF tasks SKIP LOCKED FOR KEY SHARE OF projects SKIP LOCKED`)
      if (row === undefined) return undefined
      const claimed = yield* this.claimTask(row, at)
      if (Result.isSuccess(claimed)) return Result.succeed(claimed.success)
      const { failure } = claimed
      yield* sql`
        UPDATE tasks SET state = 'failed', error = ${JSON.stringify(failureOf(failure))}, updated_at = ${at}
        WHERE id = ${row.id}`
      yield* notify(sql, "task", row.id)
      return Result.fail(row.id)
    },
    (self) => plannedTransaction(this.sql)(self)
  )

  /** The task with its run, or why it fails. */
  private readonly claimTask = Effect.fnUntraced(
    { self: this },
    function* (
      row: TaskRow,
      at: Date
    ): Effect.fn.Return<Result.Result<ClaimedTask, Coded<ErrorCode>>, SqlError.SqlError> {
      const refusal = yield* this.findClaimRefusal(row)
      if (refusal !== undefined) return Result.fail(refusal)
      return yield* this.assignRun(row, at).pipe(
        Effect.map(Result.succeed),
        Effect.catchTag("BudgetExceeded", (exceeded) => Effect.succeed(Result.fail(exceeded)))
      )
    }
  )

  /** Also for users who have changed the message that the task delivers. */
  private readonly findClaimRefusal = Effect.fnUntraced({ self: this }, function* (row: TaskRow) {
    // The Edge may already have a run that was assigned earlier.
    if (row.run_id !== null) return undefined
    const { created_by, message_id, project_id: projectId, session_id, target_id: targetId } = row
    const message =
      message_id === null
        ? undefined
        : yield* contributorRows.first(this.sql`
          SELECT contributors FROM messages WHERE session_id = ${session_id} AND id = ${message_id}`)
    const { workspace } = row.request
    for (const author of [created_by, ...(message?.contributors ?? [])]) {
      const refusal = yield* findDispatchRefusal(this.sql, this.targets, {
        author,
        projectId,
        targetId,
        workspace
      })
      if (refusal !== undefined) return refusal
    }
    return undefined
  })

  private readonly assignRun = Effect.fnUntraced({ self: this }, function* (row: TaskRow, at: Date) {
    const { log, sql } = this
    const { created_by: author, id, project_id: projectId, request: create, target_id: targetId } = row
    const runId = row.run_id ?? mint<RunId>("run", at.getTime())
    // A run that was assigned earlier keeps what it has reserved.
    const earlier = yield* runRequestRows.first(sql`SELECT made, reserved FROM runs WHERE id = ${runId}`)
    const start = { projectId, author, budget: create.budget }
    const reservation =
      earlier === undefined
        ? yield* reserveStart(sql, yield* findLimitedProject(sql, start), start, at)
        : undefined
    yield* log.open({ id: runId, projectId, targetId, taskId: id, create, reservation })
    yield* sql`UPDATE tasks SET state = 'pending', run_id = ${runId}, updated_at = ${at} WHERE id = ${id}`
    yield* notify(sql, "task", id)
    return claimedTaskOf(
      row,
      runId,
      reservedRequest(earlier?.made ?? create, earlier?.reserved ?? reservation?.budget)
    )
  })

  /** Records that the Edge has the run. Events of the run may have moved the task already. */
  readonly markDispatched = Effect.fn("TaskClaims.markDispatched")(
    { self: this },
    function* ({ id }: ClaimedTask) {
      const { now, sql } = this
      yield* announced(
        sql,
        "task",
        sql`
      UPDATE tasks SET state = 'dispatched', updated_at = ${now()} WHERE id = ${id} AND state = 'pending' RETURNING id`
      )
    }
  )

  /** Returns the task to the queue, or fails it where it must not wait. Changes nothing if the start was sent after all. */
  readonly markUnreachable = Effect.fn("TaskClaims.markUnreachable")(
    { self: this },
    function* (task: ClaimedTask, error: RunFailure) {
      yield* task.onOffline === "queue"
        ? this.releaseTask(task, "queued", undefined, this.wasStartSent(task))
        : this.releaseTask(task, "failed", error, this.wasStartSent(task))
    }
  )

  /**
   * Fails the task, unless it carries out a plan and its conversation cannot be continued: then it starts without it. Returns whether the task is in
   * the queue again.
   */
  readonly markRefused = Effect.fn("TaskClaims.markRefused")(
    { self: this },
    function* (task: ClaimedTask, error: RunFailure) {
      const { sql } = this
      const { resume, ...create } = task.create
      const never = Effect.succeed(false)
      if (error.code === "schema_validation_failed" && resume !== undefined) {
        const row = yield* taskRows.first(
          sql`SELECT ${sql.literal(TASK_COLUMNS)} FROM tasks WHERE id = ${task.id}`
        )
        if (row !== undefined && isPlanTask(task.id, row.created_at, resume)) {
          yield* sql`UPDATE tasks SET request = ${JSON.stringify(create)} WHERE id = ${task.id} AND state = 'pending'`
          yield* this.releaseTask(task, "queued", undefined, never)
          return true
        }
      }
      yield* this.releaseTask(task, "failed", error, never)
      return false
    }
  )

  /**
   * Moves the task out of `pending` and deletes its run, unless the run has events or `unless` holds. Takes locks in the same order as a push:
   * first the run, then the task.
   */
  private releaseTask(
    task: ClaimedTask,
    state: TaskState,
    error: RunFailure | undefined,
    unless: Effect.Effect<boolean, SqlError.SqlError>
  ): Effect.Effect<void, SqlError.SqlError> {
    const { now, sql } = this
    return sql.withTransaction(
      Effect.gen(function* () {
        const run = yield* runSeqRows.first(
          sql`SELECT last_seq FROM runs WHERE id = ${task.runId} FOR UPDATE`
        )
        if (run === undefined || run.last_seq > 0 || (yield* unless)) return
        const released = yield* announced(
          sql,
          "task",
          sql`
          UPDATE tasks SET state = ${state}, run_id = NULL, updated_at = ${now()},
            error = ${error === undefined ? null : JSON.stringify(error)}
          WHERE id = ${task.id} AND state = 'pending' AND run_id = ${task.runId} RETURNING id`
        )
        if (released.length > 0) yield* sql`DELETE FROM runs WHERE id = ${task.runId}`
      })
    )
  }

  /** Whether an Edge may have the start. A start that was never sent is deleted here. */
  private wasStartSent({ runId }: ClaimedTask) {
    const { sql } = this
    return Effect.gen(function* () {
      const id = startCommandId(runId)
      yield* sql`DELETE FROM edge_commands WHERE id = ${id} AND generation IS NULL AND outcome IS NULL`
      const sent = yield* sql`SELECT 1 FROM edge_commands WHERE id = ${id}`
      return sent.length > 0
    })
  }
}
