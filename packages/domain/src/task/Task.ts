/**
 * A task: a work request that names its exact target. It becomes one run, there and nowhere else.
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
import { CreateRun, RunFailure, RunInput, RunMode } from "../run/Run.ts"
import { storable } from "../text/Text.ts"

/** `queued`: the target is offline and the caller chose to wait. `expired`: it waited longer than `expiresAt`. */
export const TaskState = Schema.Literals([
  "pending",
  "queued",
  "dispatched",
  "running",
  "completed",
  "failed",
  "cancelled",
  "expired"
])
export type TaskState = typeof TaskState.Type

/** What to do while the target is offline: refuse with `target_offline`, or wait. */
export const OnOffline = Schema.Literals(["fail", "queue"])
export type OnOffline = typeof OnOffline.Type

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
  onOffline: OnOffline,
  expiresAt: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(RunFailure),
  createdBy: UserId,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "Task" })
export type Task = typeof Task.Type

const { mode, timeoutMs, sessionId, resume, model, isolation } = CreateRun.fields

/** POST /web/agent-tasks. `onOffline` is `fail` when absent; `expiresAt` bounds the wait of `queue`. */
export const CreateTask = Schema.Struct({
  projectId: ProjectId,
  targetId: DeviceId,
  workspace: WorkspaceId.check(storable),
  agentId: AgentId.check(storable),
  input: Schema.Struct({ text: RunInput.fields.text.check(storable) }),
  mode,
  timeoutMs,
  sessionId,
  resume,
  model,
  isolation,
  onOffline: Schema.optionalKey(OnOffline),
  expiresAt: Schema.optionalKey(Schema.String.check(storable))
}).annotate({ identifier: "CreateTask" })
export type CreateTask = typeof CreateTask.Type
