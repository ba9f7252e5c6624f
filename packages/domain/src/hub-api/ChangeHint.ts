/**
 * Hints of the change feed: the id and the current state of a changed device, approval, question, change set, task, run or message, without its
 * content, and that the reader's preferences have changed.
 *
 * A reader that receives a hint reads the resource again. Later versions of the contract can add kinds, so readers ignore unknown kinds.
 */
import { Schema } from "effect"
import { ApprovalState } from "../approval/Approval.ts"
import { DeviceState } from "../device/Device.ts"
import { ChangeSetState } from "../edge-api/ChangeSet.ts"
import { HubRunStatus } from "./HubRun.ts"
import {
  ApprovalId,
  ChangeSetId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  UserId
} from "../identity/Ids.ts"
import { InputState } from "../input/InputRequest.ts"
import { DeliveryState } from "../session/Message.ts"
import { TaskState } from "../task/Task.ts"

/** One hint of the change feed. */
export const ChangeHint = Schema.Union([
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
  /** A question, a form or a plan. */
  Schema.Struct({
    kind: Schema.Literal("input"),
    id: InputRequestId,
    runId: RunId,
    projectId: ProjectId,
    state: InputState
  }),
  /** Changes of a run. `runId` is the newest run of the set. */
  Schema.Struct({
    kind: Schema.Literal("changes"),
    id: ChangeSetId,
    runId: RunId,
    projectId: ProjectId,
    state: ChangeSetState
  }),
  Schema.Struct({ kind: Schema.Literal("task"), id: TaskId, projectId: ProjectId, state: TaskState }),
  Schema.Struct({ kind: Schema.Literal("run"), id: RunId, projectId: ProjectId, state: HubRunStatus }),
  Schema.Struct({
    kind: Schema.Literal("message"),
    id: MessageId,
    sessionId: SessionId,
    projectId: ProjectId,
    /** Only messages to an agent. */
    delivery: Schema.optionalKey(DeliveryState)
  }),
  /** Of the reader, with the reader's own id. */
  Schema.Struct({ kind: Schema.Literal("preferences"), id: UserId })
]).annotate({ identifier: "HubNews" })
export type ChangeHint = typeof ChangeHint.Type

/** Largest number of devices, of pending approvals, of pending questions and of open change sets that a new reader receives. */
export const MAX_INITIAL_HINTS = 1_000
