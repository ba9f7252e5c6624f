/**
 * Tasks: requests for a run on exactly one target. A task becomes at most one run, on that target.
 */
import { Schema } from "effect"
import {
  AgentId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId,
  WorkspaceId
} from "../identity/Ids.ts"
import { Budget } from "../run/Budget.ts"
import { CreateRun, RunFailure, RunInput, RunMode } from "../run/Run.ts"
import { currentAgentId } from "../offer/Offer.ts"
import { isStorableText } from "../text/Text.ts"

const overTaskStates = ["completed", "failed", "cancelled", "expired"] as const

/** State of a task. `queued`: waits for its offline target. `expired`: the target was offline until `expiresAt`. */
export const TaskState = Schema.Literals(["pending", "queued", "dispatched", "running", ...overTaskStates])
export type TaskState = typeof TaskState.Type

/** Whether a task in that state changes no more. */
export const isTaskOver = (state: TaskState): boolean => overTaskStates.some((over) => over === state)

/** Behavior if the target is offline: refuse the task with `target_offline`, or wait. */
export const OnOffline = Schema.Literals(["fail", "queue"])
export type OnOffline = typeof OnOffline.Type

/** A task and its run. Times are ISO 8601. */
export const Task = Schema.Struct({
  id: TaskId,
  projectId: ProjectId,
  sessionId: Schema.optionalKey(SessionId),
  state: TaskState,
  targetId: DeviceId,
  workspace: WorkspaceId,
  agentId: AgentId,
  mode: RunMode,
  /** Absent if the runtime's default holds. */
  model: Schema.optionalKey(Schema.String),
  input: RunInput,
  /** The group of a candidate. */
  groupId: Schema.optionalKey(TaskGroupId),
  runId: Schema.optionalKey(RunId),
  budget: Schema.optionalKey(Budget),
  /** Absent if the Edge's default holds. */
  timeoutMs: Schema.optionalKey(Schema.Int),
  onOffline: OnOffline,
  expiresAt: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(RunFailure),
  createdBy: UserId,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "Task" })
export type Task = typeof Task.Type

/** Smallest and largest number of candidates of one task. */
export const MIN_CANDIDATES = 2
export const MAX_CANDIDATES = 5

const { budget, mode, timeoutMs, backgroundMs, inputTtlMs, sessionId, resume, model, isolation } =
  CreateRun.fields

/** One of several agents that receive the same task. `mode` is the task's by default. */
export const Candidate = Schema.Struct({
  agentId: AgentId.check(isStorableText),
  model,
  mode: Schema.optionalKey(RunMode)
}).annotate({ identifier: "Candidate" })
export type Candidate = typeof Candidate.Type

const Candidates = Schema.Array(Candidate).check(
  Schema.isMinLength(MIN_CANDIDATES),
  Schema.isMaxLength(MAX_CANDIDATES),
  Schema.makeFilter(
    (candidates: ReadonlyArray<Candidate>) =>
      new Set(candidates.map(({ agentId, model }) => JSON.stringify([currentAgentId(agentId), model])))
        .size === candidates.length,
    { expected: "candidates with different agents or models" }
  )
)

/**
 * Body of POST /web/agent-tasks. `onOffline` is `fail` by default. `expiresAt` limits the wait of `queue`. `backgroundMs` and `inputTtlMs` are
 * the project's by default. An Edge that is too old for them ignores them. In a session, limits of `budget` and `timeoutMs` that the task does not
 * have are those of its agent.
 *
 * With `candidates`, each of them receives the task, on the same files: the answer is the task of the first one, with the `groupId` of all. `agentId` is
 * that of the first one; `model` and `resume` must be absent. Each has its own agent in the session, and a layer or a worktree: `isolation` is the
 * default of the project or the workspace, and `overlay` if that is `none`. Without `sessionId` they get a new session.
 */
export const CreateTask = Schema.Struct({
  projectId: ProjectId,
  targetId: DeviceId,
  workspace: WorkspaceId.check(isStorableText),
  agentId: AgentId.check(isStorableText),
  input: Schema.Struct({ text: RunInput.fields.text.check(isStorableText) }),
  mode,
  budget,
  timeoutMs,
  backgroundMs,
  inputTtlMs,
  sessionId,
  resume,
  model,
  isolation,
  candidates: Schema.optionalKey(Candidates),
  onOffline: Schema.optionalKey(OnOffline),
  expiresAt: Schema.optionalKey(Schema.String.check(isStorableText))
}).annotate({ identifier: "CreateTask" })
export type CreateTask = typeof CreateTask.Type
