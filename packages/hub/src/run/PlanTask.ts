/**
 * Approved plans: who has approved what, and the task that carries a plan out. The task continues the work of a task without a
 * session: the next run of the same agent in the same place, in the mode that the approver chose. A run that may not carry out its
 * plan ends with it.
 *
 * Guarantees: the author of an approval has approved the plan over a Hub, with the same mode, or owns the device on which it was
 * approved: an event of an Edge alone starts nothing in a user's name. The task is added once, in the transaction that stores the end
 * of its run. It belongs to the user who approved the plan, whose rights are checked when it is dispatched, like those of any waiting
 * task. If the conversation cannot be continued, one more task starts without it: each has the whole plan as a text. Whether a run
 * failed before its agent said or did anything decides that.
 */
import {
  type RunId,
  type DeviceId,
  type InputRequestId,
  type RequestId,
  type TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { DEFAULT_PLAN_MODE } from "@corral/domain/input/AnswerCheck"
import { cannotContinue } from "@corral/domain/run/Continuation"
import { CreateRun, type RunMode } from "@corral/domain/run/Run"
import { storedRows, jsonColumn, storableText, Timestamp } from "../store/StoredRows.ts"
import { appendRecord } from "../audit/Audit.ts"
import { findOfferedAgent } from "../device/DeviceRow.ts"
import { derivedId } from "@corral/service/Identifiers"
import { notify } from "../store/Notices.ts"
import type { PushedRun } from "./PushedRun.ts"
import { inputTable } from "./RequestTable.ts"

/** A longer log contains output: these are at most a handful. */
const MAX_EVENTS = 64

/** Events of a run whose agent has not answered yet. */
const silent: ReadonlySet<string> = new Set([
  "run.created",
  "run.started",
  "run.failed",
  // Its request says whether it counts.
  "run.approval.resolved",
  "run.paused",
  "run.resumed",
  "run.diff.ready",
  "run.protected.changed",
  "run.repository.changed",
  "run.changes.unknown",
  "runtime.unavailable",
  "runtime.retrying",
  "runtime.timeout",
  "schema.validation_failed"
])

const lineRows = storedRows("run_events", Schema.Struct({ lines: Schema.String }))

interface LoggedEvent {
  readonly type?: unknown
  readonly payload?: {
    readonly role?: unknown
    readonly request?: { readonly action?: unknown; readonly tool?: unknown }
  }
}

/** A runtime can connect before it opens its conversation: the Edge asks about that, and says what it refused. */
const isConnection = (request: NonNullable<LoggedEvent["payload"]>["request"]): boolean =>
  request?.action === "network" && request.tool === undefined

const isSilent = (line: string): boolean => {
  // Events were checked when they were pushed.
  const { payload, type } = JSON.parse(line) as LoggedEvent
  if (type === "run.message.completed") return payload?.role === "user" || payload?.role === "system"
  if (type === "run.approval.requested") return isConnection(payload?.request)
  return silent.has(String(type))
}

export const failedBeforeOutput = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runId: RunId,
  lastSeq: number
) {
  if (lastSeq > MAX_EVENTS) return false
  const rows = yield* lineRows.all(
    sql`SELECT lines FROM run_events WHERE run_id = ${runId} ORDER BY last_seq`
  )
  return rows.flatMap(({ lines }) => lines.split("\n")).every(isSilent)
})

export interface PlanApproval {
  readonly mode?: RunMode | undefined
  readonly comment?: string | undefined
}

const modeOf = ({ mode }: PlanApproval): RunMode => mode ?? DEFAULT_PLAN_MODE

export const recordPlanApproval = (
  sql: SqlClient.SqlClient,
  inputId: InputRequestId,
  userId: UserId,
  approval: PlanApproval
): Effect.Effect<void, SqlError.SqlError> => {
  const comment = JSON.stringify(approval.comment ?? "")
  const row = { input_id: inputId, user_id: userId, mode: modeOf(approval), comment }
  return Effect.asVoid(sql`
    INSERT INTO plan_approvals ${sql.insert(row)}
    ON CONFLICT (input_id, user_id, mode) DO UPDATE SET comment = excluded.comment`)
}

const authorRows = storedRows(
  "plan_approvals, devices",
  Schema.Struct({ user_id: UserId, comment: jsonColumn(Schema.String) })
)

/** Who decided and answered at an Edge alone: the owner of its token. */
export const EDGE_OWNER = "local"

/** The user who approved the plan, and the user's comment. */
const findAuthor = (
  sql: SqlClient.SqlClient,
  targetId: DeviceId,
  { answeredBy, comment = "", id, mode }: InputRequest
) => {
  if (answeredBy === undefined) return Effect.undefined
  return answeredBy === EDGE_OWNER
    ? authorRows.first(
        sql`SELECT owner_id AS user_id, ${JSON.stringify(comment)} AS comment FROM devices WHERE id = ${targetId}`
      )
    : authorRows.first(sql`
        SELECT user_id, comment FROM plan_approvals
        WHERE input_id = ${id} AND user_id = ${answeredBy} AND mode = ${modeOf({ mode })}`)
}

/** Whether the next run of the agent continues the conversation in which the plan was made. */
const remembers = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { agentId }: InputRequest,
  { mirror, row }: PushedRun
) {
  if (mirror.summary.runtimeSessionId === undefined) return false
  const agent = yield* findOfferedAgent(sql, row.target_id, agentId)
  return agent?.capabilities.resume === true
})

const APPROVED = "The plan was approved. Carry it out."

const textOf = (comment: string, plan: string | undefined): string =>
  storableText(
    [
      APPROVED,
      ...(comment.trim() === "" ? [] : [comment]),
      ...(plan === undefined ? [] : ["The plan:", plan])
    ].join("\n\n")
  )

/** An approved plan, for the run that carries it out. */
export interface ApprovedPlan {
  readonly author: UserId
  readonly mode: RunMode
  /** Whether the agent can continue the conversation in which the plan was made. */
  readonly isRemembered: boolean
  /** The text for an agent that continues the conversation, and the text for one that does not. */
  readonly texts: { readonly resumed: string; readonly whole: string }
}

/** The plan that the run has ended with; `undefined` if none was approved, or if no user stands for the approval. */
export const findApprovedPlan = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: PushedRun
): Effect.fn.Return<ApprovedPlan | undefined, SqlError.SqlError> {
  const { id: runId, target_id } = run.row
  const answered = yield* inputTable.rows.all(sql`
    SELECT ${sql.literal(inputTable.columns)} FROM inputs WHERE run_id = ${runId} AND state = 'answered' ORDER BY id`)
  const plan = answered.map(({ document }) => document).find(({ approved }) => approved === true)
  if (plan === undefined) return undefined
  const author = yield* findAuthor(sql, target_id, plan)
  if (author === undefined) {
    yield* Effect.logWarning("ignored an approval of an unknown user", { runId })
    return undefined
  }
  const { comment, user_id } = author
  return {
    author: user_id,
    mode: modeOf(plan),
    isRemembered: yield* remembers(sql, plan, run),
    texts: { resumed: textOf(comment, undefined), whole: textOf(comment, plan.plan) }
  }
})

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
