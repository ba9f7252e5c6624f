/**
 * Groups of tasks: candidates for one message, on the same files. Also the choice of the candidate that is continued.
 *
 * Guarantees: at most one candidate of a group is continued. From then on, the agents of the others receive no messages.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import { CLOSED_CANDIDATE_DAYS, type GroupCandidate, type TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import {
  AgentInstanceId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { Isolation, Usage } from "@corral/domain/run/Run"
import type { Task } from "@corral/domain/task/Task"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { ChangeSets } from "../change/ChangeSets.ts"
import { lockProject } from "../project/ProjectRow.ts"
import { validationFailure } from "../run/OfferRefusal.ts"
import { Runs } from "../run/Runs.ts"
import { withdrawUndelivered } from "../session/MessageStore.ts"
import { lockActiveSession } from "../session/SessionTable.ts"
import { announced, notify } from "../store/Notices.ts"
import { openTaskStates, waitingTaskStates } from "../store/StateLists.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { TASK_COLUMNS, taskOf, taskRows } from "./TaskRow.ts"

/** Milliseconds that undecided changes of the other candidates can be read. */
export const CLOSED_MS = CLOSED_CANDIDATE_DAYS * 86_400_000

const GroupRow = Schema.Struct({
  id: TaskGroupId,
  project_id: ProjectId,
  session_id: SessionId,
  target_id: DeviceId,
  workspace: WorkspaceId,
  isolation: Isolation,
  continued_task_id: Schema.NullOr(TaskId),
  continued_by: Schema.NullOr(UserId),
  continued_at: Schema.NullOr(Timestamp),
  created_by: UserId,
  created_at: Timestamp
})
type GroupRow = typeof GroupRow.Type

const GROUP_COLUMNS = Object.keys(GroupRow.fields).join(", ")

const groupRows = storedRows("task_groups", GroupRow)

const CandidateRow = Schema.Struct({
  task_id: TaskId,
  agent_instance_id: AgentInstanceId,
  label: Schema.String,
  closed_at: Schema.NullOr(Timestamp),
  removed_at: Schema.NullOr(Timestamp)
})
type CandidateRow = typeof CandidateRow.Type

const CANDIDATE_COLUMNS = Object.keys(CandidateRow.fields).join(", ")

const candidateRows = storedRows("task_group_candidates", CandidateRow)

/** A run of a candidate's agent, without what makes rows large. */
const candidateRunRows = storedRows(
  "runs",
  Schema.Struct({
    id: RunId,
    agent_instance_id: AgentInstanceId,
    usage: Schema.NullOr(jsonColumn(Usage)),
    duration_ms: Schema.NullOr(Schema.Finite)
  })
)
type CandidateRun = Effect.Success<ReturnType<typeof candidateRunRows.all>>[number]

/** Where a group belongs. Needed to check the caller's rights, so it must not reach the caller before that check. */
export type GroupPlace = Pick<GroupRow, "id"> & {
  readonly projectId: ProjectId
  readonly sessionId: SessionId
  readonly targetId: DeviceId
}

export class TaskGroups extends Context.Service<
  TaskGroups,
  {
    readonly locate: (id: TaskGroupId) => Effect.Effect<GroupPlace | undefined, SqlError.SqlError>
    readonly get: (
      proof: Proof<"project.read" | "run.cancel" | "run.pause" | "run.resume" | "session.write">,
      id: TaskGroupId
    ) => Effect.Effect<TaskGroup, PermissionDenied | SqlError.SqlError>
    /** Tasks of the candidates that are not over: their first ones, and those of later messages. */
    readonly openTasks: (id: TaskGroupId) => Effect.Effect<ReadonlyArray<CandidateTask>, SqlError.SqlError>
    /** Continues with a candidate, and closes the others. The same choice again changes nothing. Call it in a transaction. */
    readonly continueWith: (
      proof: Proof<"session.write">,
      id: TaskGroupId,
      taskId: TaskId
    ) => Effect.Effect<void, ContinueFailure>
  }
>()("corral/hub/TaskGroups") {
  static readonly layer = Layer.effect(
    TaskGroups,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const runs = yield* Runs
      const sets = yield* ChangeSets
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      return TaskGroups.of({
        locate: Effect.fnUntraced(function* (id) {
          const row = yield* findGroup(sql, id)
          return row && { id, projectId: row.project_id, sessionId: row.session_id, targetId: row.target_id }
        }),

        get: Effect.fnUntraced(function* (proof, id) {
          const row = yield* findGroup(sql, id)
          if (row?.project_id !== proof.subject) return yield* new PermissionDenied()
          const candidates = yield* findCandidates(sql, id)
          const tasks = yield* taskRows.all(
            sql`SELECT ${sql.literal(TASK_COLUMNS)} FROM tasks WHERE id = ANY(${candidates.map(({ task_id }) => task_id)}::text[])`
          )
          const allRuns = yield* findRuns(sql, row, candidates)
          const newest = new Map(allRuns.map(({ agent_instance_id, id }) => [agent_instance_id, id]))
          const summaries = yield* sets.summaries(allRuns.map(({ id }) => id))
          // A further run begins another set if the one before had no conversation.
          const reported = new Map(
            allRuns.flatMap(({ agent_instance_id, id }) => {
              const summary = summaries.get(id)
              return summary === undefined ? [] : [[agent_instance_id, summary] as const]
            })
          )
          const views: Array<GroupCandidate> = []
          for (const candidate of candidates) {
            const task = tasks.find((task) => task.id === candidate.task_id)
            if (task === undefined) continue
            const runId = newest.get(candidate.agent_instance_id)
            // The run of a start that failed is removed, maybe since the list was read.
            const run =
              runId === undefined
                ? undefined
                : yield* runs
                    .get(proof, runId)
                    .pipe(
                      Effect.catch((error) =>
                        error instanceof PermissionDenied ? Effect.undefined : Effect.fail(error)
                      )
                    )
            const changes = reported.get(candidate.agent_instance_id)
            views.push({
              ...candidateOf(candidate, taskOf(task), allRuns),
              ...(run === undefined ? {} : { run }),
              ...(changes === undefined ? {} : { changes })
            })
          }
          return groupOf(row, views)
        }),

        openTasks: Effect.fnUntraced(function* (id) {
          const rows = yield* taskRows.all(sql`
            SELECT ${sql.literal(TASK_COLUMNS)} FROM tasks WHERE state IN ${openTaskStates(sql)} AND agent_instance_id IN (
              SELECT agent_instance_id FROM task_group_candidates WHERE group_id = ${id}
            ) ORDER BY id`)
          const candidates = yield* findCandidates(sql, id)
          return rows.map((row) => ({
            task: taskOf(row),
            candidateId:
              candidates.find(({ agent_instance_id }) => agent_instance_id === row.agent_instance_id)
                ?.task_id ?? row.id
          }))
        }),

        continueWith: (proof, id, taskId) => continueWith(sql, proof, id, taskId, now())
      })
    })
  )
}

/** A task of a candidate's agent. */
export interface CandidateTask {
  readonly task: Task
  /** The candidate's first task. */
  readonly candidateId: TaskId
}

type ContinueFailure = Effect.Error<ReturnType<typeof continueWith>>

const findGroup = (sql: SqlClient.SqlClient, id: TaskGroupId) =>
  groupRows.first(sql`SELECT ${sql.literal(GROUP_COLUMNS)} FROM task_groups WHERE id = ${id}`)

const findCandidates = (sql: SqlClient.SqlClient, id: TaskGroupId) =>
  candidateRows.all(
    sql`SELECT ${sql.literal(CANDIDATE_COLUMNS)} FROM task_group_candidates WHERE group_id = ${id} ORDER BY position`
  )

/** Runs of the candidates' agents, oldest first. */
const findRuns = (
  sql: SqlClient.SqlClient,
  { project_id, session_id }: GroupRow,
  candidates: ReadonlyArray<CandidateRow>
) =>
  candidateRunRows.all(sql`
    SELECT r.id, t.agent_instance_id, r.told::json->>'usage' AS usage,
      (extract(epoch FROM r.ended_at - r.created_at) * 1000)::float8 AS duration_ms
    FROM tasks t JOIN runs r ON r.id = t.run_id
    WHERE t.session_id = ${session_id} AND t.project_id = ${project_id}
      AND t.agent_instance_id = ANY(${candidates.map(({ agent_instance_id }) => agent_instance_id)}::text[])
    ORDER BY r.id`)

const candidateOf = (
  { agent_instance_id, closed_at, label, removed_at, task_id }: CandidateRow,
  task: Task,
  allRuns: ReadonlyArray<CandidateRun>
): GroupCandidate => {
  const runs = allRuns.filter((run) => run.agent_instance_id === agent_instance_id)
  const usage = totalOf(runs.flatMap(({ usage }) => (usage === null ? [] : [usage])))
  return {
    task: { ...task, id: task_id },
    agentInstanceId: agent_instance_id,
    label,
    runs: runs.length,
    ...(usage === undefined ? {} : { usage }),
    durationMs: Math.round(runs.reduce((sum, { duration_ms }) => sum + (duration_ms ?? 0), 0)),
    ...(closed_at === null ? {} : { closed: true }),
    ...(removed_at === null ? {} : { removedAt: removed_at.toISOString() })
  }
}

const groupOf = (row: GroupRow, candidates: ReadonlyArray<GroupCandidate>): TaskGroup => ({
  id: row.id,
  projectId: row.project_id,
  sessionId: row.session_id,
  targetId: row.target_id,
  workspace: row.workspace,
  isolation: row.isolation,
  input: candidates[0]?.task.input ?? { text: "" },
  candidates,
  ...(row.continued_task_id === null ? {} : { continuedTaskId: row.continued_task_id }),
  ...(row.continued_by === null ? {} : { continuedBy: row.continued_by }),
  ...(row.continued_at === null
    ? {}
    : {
        continuedAt: row.continued_at.toISOString(),
        removeAt: new Date(row.continued_at.getTime() + CLOSED_MS).toISOString()
      }),
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString()
})

const counted = [
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "reasoningTokens",
  "turns",
  "costUsd"
] as const

/** The sum of what several runs have used. A count that no run has is absent. */
const totalOf = (usages: ReadonlyArray<Usage>): Usage | undefined =>
  usages.length === 0
    ? undefined
    : Object.fromEntries(
        counted.flatMap((name) => {
          const values = usages.flatMap((usage) => usage[name] ?? [])
          return values.length === 0 ? [] : [[name, values.reduce((sum, value) => sum + value, 0)]]
        })
      )

/** Takes locks in the order project, task, session, message. */
const continueWith = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  proof: Proof<"session.write">,
  id: TaskGroupId,
  taskId: TaskId,
  now: Date
) {
  const candidates = yield* findCandidates(sql, id)
  const chosen = candidates.find(({ task_id }) => task_id === taskId)
  if (chosen === undefined) return yield* validationFailure("taskId", "Expected a task of the group")
  const others = candidates
    .filter(({ task_id }) => task_id !== taskId)
    .map(({ agent_instance_id }) => agent_instance_id)
  yield* lockProject(sql, proof.subject)
  yield* announced(
    sql,
    "task",
    sql`
      UPDATE tasks SET state = 'cancelled', updated_at = ${now} WHERE id IN (
        SELECT id FROM tasks WHERE agent_instance_id = ANY(${others}::text[]) AND project_id = ${proof.subject}
          AND state IN ${waitingTaskStates(sql)} AND run_id IS NULL ORDER BY id FOR UPDATE
      ) RETURNING id`
  )
  const group = yield* findGroup(sql, id)
  if (group === undefined) return yield* new PermissionDenied()
  const at = yield* lockActiveSession(sql, proof, group.session_id, now)
  const locked = yield* findGroup(sql, id)
  if (locked?.continued_task_id === taskId) return
  if (locked?.continued_task_id !== null)
    return yield* new Conflict({
      message: "Another candidate of this group is continued.",
      details: { reason: "continued", taskId: locked?.continued_task_id }
    })
  const agent = yield* sql`
    UPDATE sessions SET default_agent = ${chosen.agent_instance_id}
    WHERE id = ${group.session_id} AND EXISTS (
      SELECT 1 FROM session_agents a WHERE a.session_id = sessions.id AND a.id = ${chosen.agent_instance_id}
    ) RETURNING id`
  if (agent.length === 0)
    return yield* new Conflict({ message: "The agent of this candidate was removed from the session." })
  yield* sql`
    UPDATE task_groups SET continued_task_id = ${taskId}, continued_by = ${proof.principal}, continued_at = ${at}
    WHERE id = ${id}`
  yield* sql`
    UPDATE task_group_candidates SET closed_at = ${at} WHERE group_id = ${id} AND task_id <> ${taskId}`
  yield* sql`
    UPDATE session_agents SET closed_at = ${at}
    WHERE session_id = ${group.session_id} AND id = ANY(${others}::text[])`
  for (const other of others) yield* withdrawUndelivered(sql, group.session_id, other)
  yield* notify(sql, "task", ...candidates.map(({ task_id }) => task_id))
})
