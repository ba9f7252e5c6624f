/**
 * Run of a new task, in the transaction that stores the task. The dispatcher of this Hub then starts the run without a claim.
 *
 * Guarantees: the rows are those of a claimed task, so a Hub that stops after the commit leaves a task that another Hub starts. The role of the
 * author is read in the same transaction.
 * Does not pass tasks that wait for the same target: behind them, a new task waits for its claim.
 */
import { roleRefusal } from "@corral/domain/access/Authorization"
import type { RunId } from "@corral/domain/identity/Ids"
import { ProjectRole } from "@corral/domain/project/Project"
import { mint } from "@corral/service/Identifiers"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { RunLog } from "../run/RunLog.ts"
import { storedRows } from "../store/StoredRows.ts"
import { type ClaimedTask, claimedTaskOf } from "./ClaimedTask.ts"
import type { TaskRow } from "./TaskRow.ts"
import { waitingTaskStates } from "../store/StateLists.ts"

/** Receives a task with its run, after the commit. Must not block and must not throw. */
export type AssignmentListener = (targetId: TaskRow["target_id"], task: ClaimedTask) => void

export interface AssignmentContext {
  readonly sql: SqlClient.SqlClient
  readonly log: RunLog["Service"]
  /** The dispatcher of this Hub. Without one, tasks wait for a claim. */
  readonly assignment: { listener: AssignmentListener | undefined }
}

const readinessRows = storedRows(
  "tasks",
  Schema.Struct({ role: Schema.NullOr(ProjectRole), is_behind: Schema.Boolean })
)

type NewTask = Pick<TaskRow, "created_by" | "project_id" | "state" | "target_id">

/** The id of the run that a new task can start now. */
export const findImmediateRun = Effect.fnUntraced(function* (
  { assignment, sql }: AssignmentContext,
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
export const openImmediateRun = Effect.fnUntraced(function* (
  { assignment, log, sql }: AssignmentContext,
  row: TaskRow,
  runId: RunId
) {
  const { id: taskId, project_id: projectId, request: create, target_id: targetId } = row
  yield* log.open({ id: runId, projectId, targetId, taskId, create })
  yield* sql.afterCommit(Effect.sync(() => assignment.listener?.(targetId, claimedTaskOf(row, runId))))
})
