/**
 * Agents at a Hub: those that targets offer, and those that were added to a session.
 */
import { Schema } from "effect"
import { AgentCapabilities } from "./Agent.ts"
import {
  AgentId,
  AgentInstanceId,
  DeviceId,
  SessionId,
  TaskGroupId,
  UserId,
  WorkspaceId
} from "../identity/Ids.ts"
import { Budget, ChangedLimits } from "./Budget.ts"
import { CreateRun, Isolation, RunMode } from "./Run.ts"
import { isStorableText } from "../text/Text.ts"

/** A runtime or profile, and the targets that offer it to the caller. */
export const AgentProfile = Schema.Struct({
  id: AgentId,
  label: Schema.String,
  runtime: Schema.String,
  capabilities: AgentCapabilities,
  targets: Schema.Array(Schema.Struct({ targetId: DeviceId, available: Schema.Boolean }))
}).annotate({ identifier: "AgentProfile" })
export type AgentProfile = typeof AgentProfile.Type

/**
 * Why messages of an agent wait: its run was stopped, or a run or the start of one failed. They stay in their order until a user continues or
 * withdraws them; new messages do not wait. `by`: the user who stopped the run. `code`: the code
 * of the failure, such as `budget_exceeded`.
 */
export const HeldQueue = Schema.Struct({
  reason: Schema.Literals(["stopped", "failed"]),
  by: Schema.optionalKey(UserId),
  code: Schema.optionalKey(Schema.String),
  since: Schema.String
}).annotate({ identifier: "HeldQueue" })
export type HeldQueue = typeof HeldQueue.Type

/**
 * An agent of one session: a runtime or profile, with the target and the workspace of its runs. `mode`, `model`, `timeoutMs` and each
 * limit of `budget` hold for messages that name no others. `held`: only while messages of the agent are held. `groupId`: of a candidate.
 * `closedAt`: another candidate was continued; the agent receives no messages.
 */
export const AgentInstance = Schema.Struct({
  id: AgentInstanceId,
  sessionId: SessionId,
  agentId: AgentId,
  label: Schema.String,
  targetId: DeviceId,
  workspace: WorkspaceId,
  mode: RunMode,
  model: Schema.optionalKey(Schema.String),
  isolation: Schema.optionalKey(Isolation),
  budget: Schema.optionalKey(Budget),
  timeoutMs: Schema.optionalKey(Schema.Int),
  held: Schema.optionalKey(HeldQueue),
  groupId: Schema.optionalKey(TaskGroupId),
  closedAt: Schema.optionalKey(Schema.String),
  addedBy: UserId,
  addedAt: Schema.String
}).annotate({ identifier: "AgentInstance" })
export type AgentInstance = typeof AgentInstance.Type

/** Body of POST /client/sessions/{id}/agents. `label` is that of the agent by default, and `mode` is `ask`. */
export const AddAgent = Schema.Struct({
  agentId: AgentId.check(isStorableText),
  targetId: DeviceId,
  workspace: WorkspaceId.check(isStorableText),
  mode: Schema.optionalKey(RunMode),
  model: CreateRun.fields.model,
  isolation: Schema.optionalKey(Isolation),
  budget: CreateRun.fields.budget,
  timeoutMs: CreateRun.fields.timeoutMs,
  label: Schema.optionalKey(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100), isStorableText)
  )
}).annotate({ identifier: "AddAgent" })
export type AddAgent = typeof AddAgent.Type

/** Body of PATCH /client/sessions/{id}/agents/{agentInstanceId}. Holds for messages that are sent later. */
export const UpdateAgent = ChangedLimits.annotate({ identifier: "UpdateAgent" })
export type UpdateAgent = typeof UpdateAgent.Type
