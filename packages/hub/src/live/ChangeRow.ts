/** Codec of changes that the feed reads: rows of `approvals`, `inputs`, `messages`, `tasks` and `runs`, with the readers who may see them. */
import { ApprovalState } from "@corral/domain/approval/Approval"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import {
  ApprovalId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import { InputState } from "@corral/domain/input/InputRequest"
import { DeliveryState } from "@corral/domain/session/Message"
import { TaskState } from "@corral/domain/task/Task"
import { Schema } from "effect"
import { storedRows } from "../store/StoredRows.ts"

/** The `kind` is a literal of the statement; it selects the table. */
const ApprovalChange = {
  kind: Schema.Literal("approval"),
  id: ApprovalId,
  run_id: RunId,
  project_id: ProjectId,
  state: ApprovalState
}
const InputChange = {
  kind: Schema.Literal("input"),
  id: InputRequestId,
  run_id: RunId,
  project_id: ProjectId,
  state: InputState
}
const TaskChange = { kind: Schema.Literal("task"), id: TaskId, project_id: ProjectId, state: TaskState }
const RunChange = { kind: Schema.Literal("run"), id: RunId, project_id: ProjectId, state: HubRunStatus }

/** The column of a run's id carries the session of a message. */
const MessageChange = {
  kind: Schema.Literal("message"),
  id: MessageId,
  run_id: SessionId,
  project_id: ProjectId,
  state: Schema.NullOr(DeliveryState)
}

const readers = {
  /** Whether every user may read the project. */
  internal: Schema.Boolean,
  members: Schema.Array(UserId)
}

const ChangeRow = Schema.Union([
  Schema.Struct({ ...ApprovalChange, ...readers }),
  Schema.Struct({ ...InputChange, ...readers }),
  Schema.Struct({ ...MessageChange, ...readers }),
  Schema.Struct({ ...TaskChange, ...readers }),
  Schema.Struct({ ...RunChange, ...readers })
])

const PendingRequestRow = Schema.Union([Schema.Struct(ApprovalChange), Schema.Struct(InputChange)])

/** The columns of a change without its readers. */
export type ChangeColumns = typeof ChangeRow.Type | typeof PendingRequestRow.Type

export const changeRows = storedRows("approvals, inputs, tasks, runs", ChangeRow)
export const pendingRequestRows = storedRows("approvals, inputs", PendingRequestRow)
export const presentRows = storedRows(
  "approvals, inputs, device_shares",
  Schema.Union([
    Schema.Struct({ kind: ApprovalChange.kind, id: ApprovalId }),
    Schema.Struct({ kind: InputChange.kind, id: InputRequestId }),
    Schema.Struct({ kind: Schema.Literal("device"), id: DeviceId })
  ])
)
