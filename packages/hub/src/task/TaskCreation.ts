/**
 * Creation of a task: the request is checked, the task stored, and where it can start now, its run opened in the same transaction.
 *
 * Guarantees: a refused task is not stored. A task that can start now has reserved what it may use under the limits of its project, or is refused.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, RunId, SessionId, TaskId, UserId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import { ProjectRole, type RunDefaults } from "@corral/domain/project/Project"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { CreateRun } from "@corral/domain/run/Run"
import type { CreateTask } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { CurrentTraceparent } from "@corral/service/telemetry/Traces"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { findChecks, findStartTerms, type StartTerms } from "../project/ProjectRow.ts"
import { RunLog } from "../run/RunLog.ts"
import { reservedRequest, Runs } from "../run/Runs.ts"
import { SessionProject, limitsIn } from "../session/SessionTable.ts"
import { storableLabel } from "../session/SessionAgentStore.ts"
import { type TaskOfSession, type TaskTurn, findMatching, joinSession } from "../session/TaskInSession.ts"
import { notify } from "../store/Notices.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { storedRows } from "../store/StoredRows.ts"
import { limitedBudget, reserveStart } from "../usage/Reservations.ts"
import { type ClaimedTask, type TaskRow, claimedTaskOf, taskOf } from "./TaskRow.ts"
import { checkResumed, checkSession, expiryOf, findTargetRefusal } from "./TaskAdmission.ts"

export class TaskCreation {
  /** The dispatcher of this Hub. Without one, tasks wait for a claim. */
  private listener: AssignmentListener | undefined
  private readonly now: () => Date
  private readonly sql: SqlClient.SqlClient
  private readonly log: RunLog["Service"]
  private readonly runs: Runs["Service"]
  private readonly router: EdgeRouter["Service"]
  private readonly sessions: SessionProject["Service"]
  private readonly targets: Targets["Service"]

  private constructor(
    now: () => Date,
    sql: SqlClient.SqlClient,
    log: RunLog["Service"],
    runs: Runs["Service"],
    router: EdgeRouter["Service"],
    sessions: SessionProject["Service"],
    targets: Targets["Service"]
  ) {
    this.now = now
    this.sql = sql
    this.log = log
    this.runs = runs
    this.router = router
    this.sessions = sessions
    this.targets = targets
  }

  static readonly make = (now: () => Date) =>
    Effect.gen(function* () {
      return new TaskCreation(
        now,
        yield* SqlClient.SqlClient,
        yield* RunLog,
        yield* Runs,
        yield* EdgeRouter,
        yield* SessionProject,
        yield* Targets
      )
    })

  onAssigned(listener: AssignmentListener): void {
    this.listener = listener
  }

  readonly create = Effect.fn("TaskCreation.create")(
    { self: this },
    function* (
      { principal, subject }: Proof<"task.create">,
      id: TaskId,
      task: CreateTask,
      givenTurn?: TaskTurn
    ) {
      const { now, sql, targets } = this
      const createdBy = principal as UserId
      const { candidates: _, expiresAt: __, onOffline = "fail", projectId, targetId, ...requested } = task
      // The proof covers this project only, regardless of the request's project.
      if (projectId !== subject) return yield* new PermissionDenied()
      const expiresAt = yield* expiryOf(task, now().getTime())
      // A turn is of a session that the caller has found in the project, and locked.
      if (givenTurn === undefined) yield* checkSession(this.sessions, task)
      yield* checkResumed(this.runs, task)
      const terms = yield* findStartTerms(sql, { author: createdBy, projectId })
      const create: CreateRun = {
        ...defaultsOf(terms, task),
        ...requested,
        ...(givenTurn === undefined
          ? yield* findLimits(sql, task)
          : yield* candidateParts(sql, projectId, givenTurn))
      }
      const { workspace } = task
      const refusal = yield* findTargetRefusal(targets, { author: createdBy, projectId, targetId, workspace })
      if (refusal !== undefined) return yield* refusal
      const limited = limitedBudget(terms.project, create.budget)
      const checked = limited === undefined ? create : { ...create, budget: limited }
      const state = yield* this.initialState(targetId, onOffline, checked)
      const at = now()
      const waitsUntil = onOffline === "queue" ? expiresAt : null
      const place = { id, projectId, targetId, author: createdBy, create, onOffline, expiresAt: waitsUntil }
      const turn = givenTurn ?? (yield* this.turnInSession(place, task.sessionId))
      const identity = { created_by: createdBy, project_id: projectId, state, target_id: targetId }
      const runId = yield* this.findImmediateRun(identity, at)
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
        group_id: turn?.groupId ?? null,
        requesters: turn?.requesters ?? [],
        attachments: turn?.attachments ?? null,
        created_at: at,
        updated_at: at
      }
      const attachments = turn?.attachments === undefined ? null : JSON.stringify(turn.attachments)
      const stored = { ...row, request: JSON.stringify(create), attachments, error: null }
      yield* sql`INSERT INTO tasks ${sql.insert(stored)}`
      if (runId !== undefined) yield* this.openImmediateRun(row, runId, terms)
      yield* notify(sql, "task", id)
      return taskOf(row)
    }
  )

  private readonly turnInSession = Effect.fnUntraced(
    { self: this },
    function* (task: Omit<TaskOfSession, "sessionId" | "findLabel">, sessionId: SessionId | undefined) {
      const { now, sql, targets } = this
      if (sessionId === undefined) return undefined
      const { agentId } = task.create
      const findLabel = Effect.map(targets.lastOffer(task.targetId), (offer) =>
        storableLabel(findAgent(offer?.agents, agentId)?.label ?? agentId)
      )
      return yield* joinSession(sql, { ...task, sessionId, findLabel }, now())
    }
  )

  private initialState(targetId: DeviceId, onOffline: TaskRow["on_offline"], create: CreateRun) {
    const { router } = this
    const pending = Effect.as(router.checkOffer(targetId, create), "pending" as const)
    return onOffline === "queue"
      ? Effect.catchTag(pending, "TargetOffline", () => Effect.succeed("queued" as const))
      : pending
  }

  /** The id of the run that a new task can start now. */
  private readonly findImmediateRun = Effect.fnUntraced(
    { self: this },
    function* ({ created_by, project_id, state, target_id }: NewTask, at: Date) {
      const { sql } = this
      if (state !== "pending" || this.listener === undefined) return undefined
      const ready = yield* readinessRows.first(sql`
    SELECT
      (SELECT role FROM project_members WHERE project_id = ${project_id} AND user_id = ${created_by}) AS role,
      EXISTS (
        SELECT 1 FROM tasks WHERE target_id = ${target_id} AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL
      ) AS is_behind`)
      // The claim of such a task fails it with the reason.
      const isRefused = roleRefusal("task.create", ready?.role ?? undefined) !== undefined
      return ready === undefined || ready.is_behind || isRefused
        ? undefined
        : mint<RunId>("run", at.getTime())
    }
  )

  /** Opens the log of the run, and passes the stored task to the dispatcher after the commit. */
  private readonly openImmediateRun = Effect.fnUntraced(
    { self: this },
    function* (row: TaskRow, runId: RunId, { project }: StartTerms) {
      const { log, sql } = this
      const {
        created_at,
        created_by: author,
        id: taskId,
        project_id: projectId,
        request,
        target_id: targetId
      } = row
      const { budget } = request
      const reservation = yield* reserveStart(sql, project, { projectId, author, budget }, created_at)
      yield* log.open({ id: runId, projectId, targetId, taskId, create: request, reservation })
      const create = reservedRequest(request, reservation.budget)
      yield* sql.afterCommit(Effect.sync(() => this.listener?.(targetId, claimedTaskOf(row, runId, create))))
    }
  )
}

/** The defaults of the project. A run that resumes another one uses that run's folder. */
const defaultsOf = ({ defaults }: StartTerms, { resume }: CreateTask): RunDefaults => {
  const { isolation, ...limits } = defaults
  return resume === undefined && isolation !== undefined ? { ...limits, isolation } : limits
}

/** What only the run of a candidate has: its group, and the checks of the project. */
const candidateParts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectId: ProjectId,
  { groupId, isCandidate }: TaskTurn
) {
  if (isCandidate !== true) return {}
  const checks = yield* findChecks(sql, projectId)
  return { ...(groupId === undefined ? {} : { groupId }), ...(checks === undefined ? {} : { checks }) }
})

/** The limits of a task of a session, with those of its agent. A message has them already. */
const findLimits = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, task: CreateTask) {
  const { sessionId, targetId } = task
  const agent =
    sessionId === undefined ? undefined : yield* findMatching(sql, { create: task, sessionId, targetId })
  return agent === undefined ? {} : limitsOfTurn(task, limitsIn(agent))
})

/** Receives a task with its run, after the commit. Must not block and must not throw. */
export type AssignmentListener = (targetId: TaskRow["target_id"], task: ClaimedTask) => void

const readinessRows = storedRows(
  "tasks",
  Schema.Struct({ role: Schema.NullOr(ProjectRole), is_behind: Schema.Boolean })
)

type NewTask = Pick<TaskRow, "created_by" | "project_id" | "state" | "target_id">
