/**
 * Task that carries out an approved plan of a task without a session: the next run of the same agent in the same place, in the mode that the
 * approver chose.
 *
 * Guarantees: the task is added once, in the transaction that stores the end of its run. It belongs to the user who approved the plan, whose rights
 * are checked when it is dispatched, like those of any waiting task. If the conversation cannot be continued, one more task starts without it: each
 * has the whole plan as a text.
 */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import { type DeviceId, type RequestId, type RunId, type TaskId, UserId } from "@corral/domain/identity/Ids"
import { cannotContinue } from "@corral/domain/run/Continuation"
import { CreateRun } from "@corral/domain/run/Run"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { appendRecord } from "../audit/AuditChain.ts"
import { derivedId } from "../store/DerivedId.ts"
import { notify } from "../store/Notice.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { failedBeforeOutput } from "./FirstOutput.ts"
import { findApprovedPlan } from "./PlanApproval.ts"
import type { PushedRun } from "./PushedRun.ts"

/** How long the task waits for a device that has gone offline. */
const WAIT_MS = 86_400_000

/** Whether these events approve a plan. */
export const approvesPlan = ({ mirror }: PushedRun): boolean =>
  [...mirror.inputs.resolved.values()].some(({ approved }) => approved === true)

/** Whether the end of the run may need a task. `mayHavePlan`: whether a plan may have been approved, by these events or before. */
export const mayNeedTask = ({ mirror, row }: PushedRun, mayHavePlan: boolean): boolean => {
  if (row.session_id !== null || row.task_id === null) return false
  const { error } = mirror.summary
  return mirror.state === "failed"
    ? error !== undefined && cannotContinue(error)
    : mirror.state === "completed" && mayHavePlan
}

const requestRows = storedRows(
  "runs, tasks",
  Schema.Struct({ made: jsonColumn(CreateRun), created_by: UserId, created_at: Timestamp })
)
const requesterRows = storedRows("run_requesters", Schema.Struct({ user_id: UserId }))

/** The id says that a task follows the end of that run. */
const planTaskId = (createdAt: Date, runId: RunId): TaskId =>
  derivedId<TaskId>("tsk", createdAt.getTime(), `${runId} plan`)

/** Whether a task that resumes the run carries out its plan. */
export const isPlanTask = (id: TaskId, createdAt: Date, resume: RunId): boolean =>
  id === planTaskId(createdAt, resume)

/** Adds the tasks that follow the ends of these runs, and returns their targets. */
export const storePlanTasks = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<PushedRun>,
  at: Date
): Effect.fn.Return<ReadonlySet<DeviceId>, SqlError.SqlError> {
  const targets = new Set<DeviceId>()
  for (const run of runs) {
    // Of a run whose earlier events are not in this push, an earlier one may have approved a plan.
    const mayHavePlan = run.row.last_seq > 0 || approvesPlan(run)
    if (mayNeedTask(run, mayHavePlan) && (yield* storePlanTask(sql, run, at))) targets.add(run.row.target_id)
  }
  return targets
})

/** Returns whether the run has a task that follows it. */
const storePlanTask = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: PushedRun,
  at: Date
): Effect.fn.Return<boolean, SqlError.SqlError> {
  const { id: runId, task_id: taskId } = run.row
  const row = yield* requestRows.first(sql`
    SELECT r.made, t.created_by, t.created_at FROM runs r JOIN tasks t ON t.id = r.task_id WHERE r.id = ${runId}`)
  if (row === undefined || taskId === null) return false
  const { made } = row
  if (run.mirror.state === "completed") {
    const plan = endsWithPlan(made.mode) ? yield* findApprovedPlan(sql, run) : undefined
    if (plan === undefined) return false
    const { author, isRemembered, mode, texts } = plan
    const { resume: _, ...same } = made
    const resume = isRemembered ? { resume: runId } : {}
    yield* insertTask(sql, run, author, { ...same, mode, input: { text: texts.whole }, ...resume }, at)
    return true
  }
  const { resume, ...withoutResume } = made
  // Only a task of this module: a user who resumes a run receives the failure.
  if (resume === undefined || !isPlanTask(taskId, row.created_at, resume)) return false
  if (!(yield* failedBeforeOutput(sql, runId, run.lastSeq))) return false
  yield* insertTask(sql, run, row.created_by, withoutResume, at)
  return true
})

const insertTask = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { row: { id: runId, project_id, target_id } }: PushedRun,
  author: UserId,
  create: CreateRun,
  at: Date
) {
  const id = planTaskId(at, runId)
  const earlier = yield* requesterRows.all(
    sql`SELECT DISTINCT user_id FROM run_requesters WHERE run_id = ${runId} ORDER BY user_id`
  )
  const task = {
    id,
    project_id,
    target_id,
    created_by: author,
    state: "queued",
    on_offline: "queue",
    expires_at: new Date(at.getTime() + WAIT_MS),
    request: JSON.stringify(create),
    requesters: earlier.map(({ user_id }) => user_id),
    created_at: at,
    updated_at: at
  }
  yield* sql`INSERT INTO tasks ${sql.insert(task)}`
  // The id of the run: no request causes the task.
  const entry = {
    action: "task.create",
    resource: id,
    projectId: project_id,
    actor: author,
    requestId: runId as string as RequestId,
    outcome: "allowed",
    code: null
  } as const
  yield* appendRecord(sql, entry, () => at.getTime())
  yield* notify(sql, "task", id)
})
