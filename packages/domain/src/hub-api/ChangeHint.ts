/**
 * Change feed: hints about all resources that the caller may see. A hint is the id and the current state of a changed device, approval, question,
 * change set, task, run or message, without its content, or says that a limit is nearly used up or that the reader's preferences
 * have changed.
 *
 * A reader that receives a hint reads the resource again. Later versions of the contract can add kinds, so readers ignore unknown kinds.
 */
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { ApprovalState } from "../approval/Approval.ts"
import { DeviceState } from "../device/Device.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ChangeSetState } from "../edge-api/ChangeSet.ts"
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
import { Day } from "../usage/Day.ts"
import { HubRunStatus } from "./HubRun.ts"
import { SessionAuthority } from "./SessionAuthority.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

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
  /**
   * A limit of a project is nearly or completely used up on a day. The id names the project and whose limit it is. `userId`: only if it is the
   * limit of one person; then that person and the project's admins receive the hint.
   */
  Schema.Struct({
    kind: Schema.Literal("limit"),
    id: Schema.String,
    projectId: ProjectId,
    userId: Schema.optionalKey(UserId),
    day: Day,
    state: Schema.Literals(["near", "reached"])
  }),
  /** Of the reader, with the reader's own id. */
  Schema.Struct({ kind: Schema.Literal("preferences"), id: UserId })
]).annotate({ identifier: "HubNews" })
export type ChangeHint = typeof ChangeHint.Type

/** Largest number of devices, of pending approvals, of pending questions and of open change sets that a new reader receives. */
export const MAX_INITIAL_HINTS = 1_000

/** Live change feed: hints about all resources that the caller may see. */
export class HubChangeFeed extends HttpApiGroup.make("news")
  .add(
    HttpApiEndpoint.get("follow", "/client/news", {
      success: HttpApiSchema.StreamSse({ data: ChangeHint })
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Stream (`text/event-stream`) of hints about devices, approvals, questions, change sets, tasks, runs, messages and limits that the caller may see. Each `data:` is " +
          "a hint as JSON, without the content of the resource. The stream starts with the current state of devices, with pending approvals and " +
          "questions, and with open change sets, up to 1,000 each. Changes follow; of several waiting changes to one resource only the last is sent. A stream cannot be resumed: each " +
          "connection starts with the current state. The stream ends if the sign-in ends, if the reader stalls for 30 s, or if changes may " +
          "have been missed."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
