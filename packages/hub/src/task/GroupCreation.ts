/**
 * Creation of a group: one task for each candidate, in one transaction. Each has a new agent of the session, and a layer or a worktree.
 *
 * Guarantees: either all candidates are stored or none.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { AgentInstanceId, SessionId, TaskGroupId, TaskId, UserId } from "@corral/domain/identity/Ids"
import { findAgent, namesSameAgent } from "@corral/domain/offer/Offer"
import type { CreateRun, Isolation } from "@corral/domain/run/Run"
import type { Candidate, CreateTask, Task } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Targets } from "../edges/Targets.ts"
import { findRunDefaults, lockProject } from "../project/ProjectRow.ts"
import { validationFailure } from "../run/OfferRefusal.ts"
import { storableLabel } from "../session/SessionAgentStore.ts"
import {
  type SessionProject,
  insertSession,
  readOnlyConflict,
  touchSession
} from "../session/SessionTable.ts"
import { joinSession } from "../session/TaskInSession.ts"
import { expiryOf, findTargetRefusal } from "./TaskAdmission.ts"
import type { TaskCreation } from "./TaskCreation.ts"

/** A task with candidates. */
export type CreateGroup = CreateTask & { readonly candidates: ReadonlyArray<Candidate> }

export const hasCandidates = (task: CreateTask): task is CreateGroup => task.candidates !== undefined

export interface CreatedGroup {
  /** In the order of the candidates. */
  readonly tasks: readonly [Task, ...ReadonlyArray<Task>]
  readonly sessionId: SessionId
  /** Whether the session was made for the group. */
  readonly isNewSession: boolean
}

export interface GroupServices {
  readonly sql: SqlClient.SqlClient
  readonly targets: Targets["Service"]
  readonly sessions: SessionProject["Service"]
  readonly creation: TaskCreation
  readonly now: () => Date
}

/** Call it in a transaction. */
export const createGroup = Effect.fnUntraced(function* (
  services: GroupServices,
  proof: Proof<"task.create">,
  firstId: TaskId,
  task: CreateGroup
) {
  const { now, sql } = services
  const { projectId, targetId, workspace } = task
  // The proof covers this project only, regardless of the request's project.
  if (projectId !== proof.subject) return yield* new PermissionDenied()
  yield* checkGroup(task)
  const createdBy = proof.principal as UserId
  const refusal = yield* findTargetRefusal(services.targets, {
    author: createdBy,
    projectId,
    targetId,
    workspace
  })
  if (refusal !== undefined) return yield* refusal
  const at = now()
  const sessionId = yield* openSession(services, createdBy, task, at)
  const isolation = yield* isolationOf(services, task)
  const groupId = mint<TaskGroupId>("tgr", at.getTime())
  const group = { id: groupId, project_id: projectId, session_id: sessionId, target_id: targetId, workspace }
  yield* sql`INSERT INTO task_groups ${sql.insert({ ...group, isolation, created_by: createdBy, created_at: at })}`
  const place = { groupId, sessionId, isolation }
  const [first, ...others] = task.candidates.map((candidate, index) => ({
    candidate,
    position: index,
    id: index === 0 ? firstId : mint<TaskId>("tsk", at.getTime())
  }))
  if (first === undefined) return yield* validationFailure("candidates", "Expected candidates")
  const joined = yield* createCandidate(services, proof, task, place, first)
  const rest = yield* Effect.forEach(others, (other) => createCandidate(services, proof, task, place, other))
  // The last agent that was added would be the default one.
  yield* sql`UPDATE sessions SET default_agent = ${joined.agentInstanceId} WHERE id = ${sessionId}`
  const created: CreatedGroup = {
    tasks: [joined.task, ...rest.map((candidate) => candidate.task)],
    sessionId,
    isNewSession: task.sessionId === undefined
  }
  return created
})

/** Fields that only make sense without candidates. */
const checkGroup = Effect.fnUntraced(function* ({
  agentId,
  candidates,
  isolation,
  model,
  resume
}: CreateGroup) {
  if (!namesSameAgent(agentId, candidates[0]?.agentId ?? ""))
    return yield* validationFailure("agentId", "Expected the agent of the first candidate")
  if (model !== undefined)
    return yield* validationFailure("model", "Expected no model, because each candidate names its own")
  if (resume !== undefined)
    return yield* validationFailure("resume", "Expected no earlier run, because candidates have none")
  if (isolation === "none")
    return yield* validationFailure("isolation", "Expected worktree or overlay for candidates")
})

/** The session of the group, locked; a new one if the task names none. */
const openSession = Effect.fnUntraced(function* (
  { sessions, sql }: GroupServices,
  createdBy: UserId,
  { projectId, sessionId }: CreateGroup,
  at: Date
) {
  if (sessionId !== undefined && (yield* sessions.find(sessionId)) !== projectId)
    return yield* new PermissionDenied()
  yield* lockProject(sql, projectId)
  if (sessionId === undefined) return (yield* insertSession(sql, { projectId, createdBy }, at)).id
  const touched = yield* touchSession(sql, projectId, sessionId, at)
  if (touched === undefined) return yield* new PermissionDenied()
  return touched.state === "active" ? sessionId : yield* readOnlyConflict(touched.state)
})

/** That of the task, the project or the workspace, whichever comes first and isolates. */
const isolationOf = Effect.fnUntraced(function* (
  { sql, targets }: GroupServices,
  { isolation, projectId, targetId, workspace }: CreateGroup
): Effect.fn.Return<Isolation, SqlError.SqlError> {
  const defaults = yield* findRunDefaults(sql, projectId)
  const offer = yield* targets.lastOffer(targetId)
  const usual = offer?.workspaces.find(({ id }) => id === workspace)?.isolation
  return (
    [isolation, defaults.isolation, usual].find((each) => each !== undefined && each !== "none") ?? "overlay"
  )
})

interface GroupPlace {
  readonly groupId: TaskGroupId
  readonly sessionId: SessionId
  readonly isolation: Isolation
}

const createCandidate = Effect.fnUntraced(function* (
  { creation, now, sql, targets }: GroupServices,
  proof: Proof<"task.create">,
  group: CreateGroup,
  { groupId, isolation, sessionId }: GroupPlace,
  {
    candidate,
    id,
    position
  }: { readonly candidate: Candidate; readonly id: TaskId; readonly position: number }
) {
  const { candidates: _, onOffline = "fail", projectId, targetId, ...requested } = group
  const { agentId, model, mode = group.mode } = candidate
  const { budget, input, timeoutMs, workspace } = requested
  const label = yield* labelOf(targets, group, candidate)
  const named = { agentId, mode, ...(model === undefined ? {} : { model }) }
  const task: CreateTask = { ...requested, ...named, projectId, targetId, sessionId, isolation, onOffline }
  const create: CreateRun = {
    ...named,
    workspace,
    input,
    isolation,
    ...(budget === undefined ? {} : { budget }),
    ...(timeoutMs === undefined ? {} : { timeoutMs })
  }
  const expiresAt = onOffline === "queue" ? yield* expiryOf(group, now().getTime()) : null
  const author = proof.principal as UserId
  const joining = { id, projectId, sessionId, targetId, author, create, onOffline, expiresAt }
  const turn = yield* joinSession(
    sql,
    { ...joining, findLabel: Effect.succeed(label), candidate: { groupId, label } },
    now()
  )
  if (turn === undefined) return yield* Effect.die(new Error("A locked session has changed."))
  const created = yield* creation.create(proof, id, task, turn)
  const row = { task_id: id, group_id: groupId, position, agent_instance_id: turn.agentInstanceId, label }
  yield* sql`INSERT INTO task_group_candidates ${sql.insert(row)}`
  const joined: { readonly task: Task; readonly agentInstanceId: AgentInstanceId } = {
    task: created,
    agentInstanceId: turn.agentInstanceId
  }
  return joined
})

/** With the model, if the same agent is a candidate more than once. */
const labelOf = Effect.fnUntraced(function* (
  targets: Targets["Service"],
  { candidates, targetId }: CreateGroup,
  { agentId, model }: Candidate
) {
  const offer = yield* targets.lastOffer(targetId)
  const label = findAgent(offer?.agents, agentId)?.label ?? agentId
  const isRepeated = candidates.filter((other) => namesSameAgent(other.agentId, agentId)).length > 1
  return storableLabel(isRepeated && model !== undefined ? `${label} (${model})` : label)
})
