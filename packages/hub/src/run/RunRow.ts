/** Codec of the table `runs`, for readers. Pushes read plain rows (`LockedRunRow`). */
import { HubRunStatus, type HubRun } from "@corral/domain/hub-api/HubRun"
import {
  AgentId,
  ApprovalId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { CreateRun, Run } from "@corral/domain/run/Run"
import { Schema, Struct } from "effect"
import { jsonColumn, rowDecoder, Timestamp } from "../store/StoredRows.ts"

/** What the run's events say besides its state. */
const Summary = Schema.Struct(
  Struct.pick(Run.fields, [
    "runtimeSessionId",
    "model",
    "usage",
    "resultText",
    "error",
    "worktree",
    "endedAt"
  ])
)

const RunRow = Schema.Struct({
  id: RunId,
  project_id: ProjectId,
  session_id: Schema.NullOr(SessionId),
  task_id: Schema.NullOr(TaskId),
  target_id: DeviceId,
  made: jsonColumn(CreateRun),
  state: HubRunStatus,
  pending: Schema.Array(ApprovalId),
  told: jsonColumn(Summary),
  last_seq: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
})

export const RUN_COLUMNS = Object.keys(RunRow.fields).join(", ")

export const decodeRunRows = rowDecoder(RunRow)

export const decodeRunLocationRows = rowDecoder(
  Schema.Struct({
    ...Struct.pick(RunRow.fields, ["project_id", "target_id", "state", "last_seq"]),
    offer: jsonColumn(Schema.Struct({ agentId: AgentId, workspace: WorkspaceId }))
  })
)

/** Active time in milliseconds of a run without an explicit limit. */
const DEFAULT_TIMEOUT_MS = 1_800_000

export const hubRunOf = (row: typeof RunRow.Type): HubRun => {
  const { agentId, budget, input, isolation, mode, model, resume, timeoutMs, workspace } = row.made
  return {
    id: row.id,
    projectId: row.project_id,
    targetId: row.target_id,
    ...(row.task_id === null ? {} : { taskId: row.task_id }),
    ...(row.session_id === null ? {} : { sessionId: row.session_id }),
    workspace,
    agentId,
    mode,
    state: row.state,
    input,
    ...(model === undefined ? {} : { model }),
    ...(resume === undefined ? {} : { resume }),
    timeoutMs: timeoutMs ?? DEFAULT_TIMEOUT_MS,
    ...(isolation === undefined ? {} : { isolation }),
    ...(budget === undefined ? {} : { budget }),
    lastSeq: row.last_seq,
    pendingApprovals: row.pending,
    ...row.told,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString()
  }
}
