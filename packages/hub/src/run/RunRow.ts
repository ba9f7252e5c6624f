/** Codec of the table `runs`. */
import { HubRunStatus, type HubRun } from "@corral/domain/hub-api/HubRun"
import {
  AgentId,
  ApprovalId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { CreateRun, Run } from "@corral/domain/run/Run"
import { liveFieldsOf } from "@corral/domain/run/RunState"
import { VersionedMap } from "@corral/domain/run/VersionedMap"
import { WorkKind } from "@corral/domain/run/Work"
import { Schema, Struct } from "effect"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"

/** What the run's events say besides its state. */
const Summary = Schema.Struct(
  Struct.pick(Run.fields, [
    "runtimeSessionId",
    "model",
    "usage",
    "resultText",
    "error",
    "worktree",
    "confinement",
    "endsWithEdge",
    "protectedChanges",
    "changesUnknown",
    "paused",
    "endedAt"
  ])
)

/** Works in the background by their id. */
const Works = Schema.Array(
  Schema.Tuple([Schema.String, Schema.Struct({ kind: WorkKind, title: Schema.String })])
)

/** Columns that the run's events change. */
const folded = {
  state: HubRunStatus,
  started: Schema.Boolean,
  pending: Schema.Array(ApprovalId),
  told: jsonColumn(Summary),
  pending_inputs: Schema.Array(InputRequestId),
  /** Number of the current or last turn. */
  turn: Schema.Int,
  idle: Schema.Boolean,
  work: Schema.NullOr(jsonColumn(Works))
}

/** Number of works that are commands. */
export const commandsOf = (works: typeof Works.Type): number =>
  works.filter(([, { kind }]) => kind === "command").length

const FoldedColumns = Schema.Struct(folded)
export type FoldedColumns = typeof FoldedColumns.Type

const RunRow = Schema.Struct({
  id: RunId,
  project_id: ProjectId,
  session_id: Schema.NullOr(SessionId),
  task_id: Schema.NullOr(TaskId),
  target_id: DeviceId,
  /** The part of the request by which a run is found and its approvals are described. */
  offer: jsonColumn(Schema.Struct({ agentId: AgentId, workspace: WorkspaceId })),
  /** The whole request. */
  made: jsonColumn(CreateRun),
  ...folded,
  last_seq: Schema.Int,
  /** The message that another run receives instead of this one. */
  replaced_for: Schema.NullOr(MessageId),
  /** That run. */
  replaced_by: Schema.NullOr(RunId),
  created_at: Timestamp,
  updated_at: Timestamp
})

const ReadRunRow = RunRow.mapFields(Struct.omit(["offer"]))
const LockedRunRow = RunRow.mapFields(
  Struct.omit(["made", "replaced_for", "replaced_by", "created_at", "updated_at"])
)

/** A run during a push. */
export type LockedRunRow = typeof LockedRunRow.Type

const REPLACED_BY = `CASE WHEN replaced_for IS NOT NULL THEN (
  SELECT m.to_run_id FROM messages m WHERE m.session_id = runs.session_id AND m.id = runs.replaced_for
) END AS replaced_by`

/** Of the table by its own name. */
export const RUN_COLUMNS = Object.keys(ReadRunRow.fields)
  .map((column) => (column === "replaced_by" ? REPLACED_BY : column))
  .join(", ")
export const LOCKED_RUN_COLUMNS = Object.keys(LockedRunRow.fields).join(", ")

export const runRows = storedRows("runs", ReadRunRow)
export const lockedRunRows = storedRows("runs", LockedRunRow)
export const runIdRows = storedRows("runs", RunRow.mapFields(Struct.pick(["id"])))
export const runSeqRows = storedRows("runs", RunRow.mapFields(Struct.pick(["last_seq"])))
export const runAckRows = storedRows("runs", RunRow.mapFields(Struct.pick(["id", "last_seq"])))
export const runProjectRows = storedRows("runs", RunRow.mapFields(Struct.pick(["id", "project_id"])))
export const runLocationRows = storedRows(
  "runs",
  RunRow.mapFields(Struct.pick(["project_id", "target_id", "offer", "state", "last_seq"]))
)

/** Active time in milliseconds of a run without an explicit limit. */
const DEFAULT_TIMEOUT_MS = 1_800_000

export const hubRunOf = (row: typeof ReadRunRow.Type): HubRun => {
  const { agentId, backgroundMs, budget, input, inputTtlMs, isolation } = row.made
  const { mode, model, resume, timeoutMs, workspace } = row.made
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
    ...(backgroundMs === undefined ? {} : { backgroundMs }),
    ...(inputTtlMs === undefined ? {} : { inputTtlMs }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(budget === undefined ? {} : { budget }),
    lastSeq: row.last_seq,
    ...(row.replaced_for === null ? {} : { replaced: true }),
    ...(row.replaced_by === null ? {} : { replacedBy: row.replaced_by }),
    pendingApprovals: row.pending,
    ...row.told,
    ...liveFieldsOf({
      status: row.state === "queued" ? undefined : row.state,
      started: row.started,
      isIdle: row.idle,
      outstanding: VersionedMap.of(row.work ?? []),
      commands: commandsOf(row.work ?? []),
      pendingInputs: { keys: () => row.pending_inputs }
    }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString()
  }
}
