/**
 * What has changed of what a person may see, as hints without content: which thing, and its state now.
 *
 * A hint says where to look again; the lists are the truth. The kinds are closed within a version of the contract: a reader passes over
 * one that it does not know, because a later version may add some.
 */
import { Schema } from "effect"
import { ApprovalState } from "../approval/Approval.ts"
import { DeviceState } from "../device/Device.ts"
import { HubRunStatus } from "./HubRun.ts"
import { ApprovalId, DeviceId, ProjectId, RunId, TaskId } from "../identity/Ids.ts"
import { TaskState } from "../task/Task.ts"

export const HubNews = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("device"),
    id: DeviceId,
    state: DeviceState,
    lastSeenAt: Schema.optionalKey(Schema.String)
  }),
  Schema.Struct({
    kind: Schema.Literal("approval"),
    id: ApprovalId,
    runId: RunId,
    projectId: ProjectId,
    state: ApprovalState
  }),
  Schema.Struct({ kind: Schema.Literal("task"), id: TaskId, projectId: ProjectId, state: TaskState }),
  Schema.Struct({ kind: Schema.Literal("run"), id: RunId, projectId: ProjectId, state: HubRunStatus })
]).annotate({ identifier: "HubNews" })
export type HubNews = typeof HubNews.Type

/** Largest number of devices, and of pending approvals, that a new reader receives. */
export const PRESENT_NEWS = 1_000
