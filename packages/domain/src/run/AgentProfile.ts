/**
 * Agents as a Hub knows them: the inventory that its targets report, and the agents taken into one session.
 */
import { Schema } from "effect"
import { AgentCapabilities } from "./Agent.ts"
import { AgentId, AgentInstanceId, DeviceId, SessionId, UserId, WorkspaceId } from "../identity/Ids.ts"
import { storable } from "../text/Text.ts"

/** A runtime or profile, and the targets that offer it to this caller. */
export const AgentProfile = Schema.Struct({
  id: AgentId,
  label: Schema.String,
  runtime: Schema.String,
  capabilities: AgentCapabilities,
  targets: Schema.Array(Schema.Struct({ targetId: DeviceId, available: Schema.Boolean }))
}).annotate({ identifier: "AgentProfile" })
export type AgentProfile = typeof AgentProfile.Type

/** An agent of one session: a profile bound to the target and workspace where it works. */
export const AgentInstance = Schema.Struct({
  id: AgentInstanceId,
  sessionId: SessionId,
  agentId: AgentId,
  label: Schema.String,
  targetId: DeviceId,
  workspace: WorkspaceId,
  addedBy: UserId,
  addedAt: Schema.String
}).annotate({ identifier: "AgentInstance" })
export type AgentInstance = typeof AgentInstance.Type

/** POST /client/sessions/{id}/agents. `label` is the agent's own where it is absent. */
export const AddAgent = Schema.Struct({
  agentId: AgentId.check(storable),
  targetId: DeviceId,
  workspace: WorkspaceId.check(storable),
  label: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100), storable))
}).annotate({ identifier: "AddAgent" })
export type AddAgent = typeof AddAgent.Type
