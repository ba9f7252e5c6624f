/**
 * Codec of the table `tasks`, also of a task with its run, on its way to its target.
 */
import {
  AgentInstanceId,
  DeviceId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import { CommandAttachments } from "@corral/domain/link/EdgeCommand"
import { CreateRun, RunFailure } from "@corral/domain/run/Run"
import { OnOffline, type Task, TaskState } from "@corral/domain/task/Task"
import { Schema, Struct } from "effect"
import { Timestamp, jsonColumn, storedRows } from "../store/StoredRows.ts"

// A task with its run, on its way to its target.

export interface ClaimedTask {
  readonly id: TaskId
  readonly runId: RunId
  readonly create: CreateRun
  readonly attachments: CommandAttachments | undefined
  readonly onOffline: OnOffline
  /** Trace of the request that created the task. */
  readonly traceparent: string | undefined
}

/** `runId`: the run that the row has, or receives. `create`: the request with what the run has reserved. */
export const claimedTaskOf = (
  { attachments, id, on_offline: onOffline, traceparent }: TaskRow,
  runId: RunId,
  create: CreateRun
): ClaimedTask => ({
  id,
  runId,
  create,
  attachments: attachments ?? undefined,
  onOffline,
  traceparent: traceparent ?? undefined
})

export const TaskRow = Schema.Struct({
  id: TaskId,
  project_id: ProjectId,
  session_id: Schema.NullOr(SessionId),
  target_id: DeviceId,
  run_id: Schema.NullOr(RunId),
  created_by: UserId,
  state: TaskState,
  on_offline: OnOffline,
  expires_at: Schema.NullOr(Timestamp),
  request: jsonColumn(CreateRun),
  error: Schema.NullOr(jsonColumn(RunFailure)),
  traceparent: Schema.NullOr(Schema.String),
  /** The agent of the session that runs the task. */
  agent_instance_id: Schema.NullOr(AgentInstanceId),
  /** Where the agent takes turns with others. */
  place: Schema.NullOr(Schema.String),
  /** The message that the task delivers. */
  message_id: Schema.NullOr(MessageId),
  /** The group of a candidate. */
  group_id: Schema.NullOr(TaskGroupId),
  /** Users besides the author whose messages the run receives. */
  requesters: Schema.Array(UserId),
  /** Files that the run receives. */
  attachments: Schema.NullOr(jsonColumn(CommandAttachments)),
  created_at: Timestamp,
  updated_at: Timestamp
})
export type TaskRow = typeof TaskRow.Type

export const TASK_COLUMNS = Object.keys(TaskRow.fields).join(", ")

export const taskRows = storedRows("tasks", TaskRow)

export const taskTargetRows = storedRows("tasks", TaskRow.mapFields(Struct.pick(["target_id"])))

/** Tasks that have a run. */
export const assignedTaskRows = storedRows(
  "tasks",
  Schema.Struct({ ...Struct.pick(TaskRow.fields, ["id", "target_id"]), run_id: RunId })
)

export const taskOf = (row: TaskRow): Task => {
  const { agentId, budget, input, mode, model, timeoutMs, workspace } = row.request
  return {
    id: row.id,
    projectId: row.project_id,
    ...(row.session_id === null ? {} : { sessionId: row.session_id }),
    state: row.state,
    targetId: row.target_id,
    workspace,
    agentId,
    mode,
    ...(model === undefined ? {} : { model }),
    input,
    ...(row.group_id === null ? {} : { groupId: row.group_id }),
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    ...(budget === undefined ? {} : { budget }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    onOffline: row.on_offline,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at.toISOString() }),
    ...(row.error === null ? {} : { error: row.error }),
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString()
  }
}
