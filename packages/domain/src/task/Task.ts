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
  TaskId,
  UserId,
  WorkspaceId
} from "../identity/Ids.ts"
import { Budget } from "../run/Budget.ts"
import { CreateRun, RunFailure, RunInput, RunMode } from "../run/Run.ts"
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
  input: RunInput,
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

const { budget, mode, timeoutMs, backgroundMs, inputTtlMs, sessionId, resume, model, isolation } =
  CreateRun.fields

/**
 * Body of POST /web/agent-tasks. `onOffline` is `fail` by default. `expiresAt` limits the wait of `queue`. `backgroundMs` and `inputTtlMs` are
 * the project's by default. An Edge that is too old for them ignores them. In a session, limits of `budget` and `timeoutMs` that the task does not
 * have are those of its agent.
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
  onOffline: Schema.optionalKey(OnOffline),
  expiresAt: Schema.optionalKey(Schema.String.check(isStorableText))
}).annotate({ identifier: "CreateTask" })
export type CreateTask = typeof CreateTask.Type
