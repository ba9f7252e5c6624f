/** Codec of the table `session_agents`. */
import {
  AgentId,
  AgentInstanceId,
  DeviceId,
  SessionId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const SessionAgentRow = Schema.Struct({
  id: AgentInstanceId,
  session_id: SessionId,
  agent_id: AgentId,
  label: Schema.String,
  target_id: DeviceId,
  workspace: WorkspaceId,
  added_by: UserId,
  added_at: Timestamp
})
export type SessionAgentRow = typeof SessionAgentRow.Type

export const SESSION_AGENT_COLUMNS = Object.keys(SessionAgentRow.fields).join(", ")

export const sessionAgentRows = storedRows("session_agents", SessionAgentRow)

export const agentInstanceOf = (row: SessionAgentRow): AgentInstance => ({
  id: row.id,
  sessionId: row.session_id,
  agentId: row.agent_id,
  label: row.label,
  targetId: row.target_id,
  workspace: row.workspace,
  addedBy: row.added_by,
  addedAt: row.added_at.toISOString()
})
