/** Codec of the table `session_agents`. */
import {
  AgentId,
  AgentInstanceId,
  DeviceId,
  RunId,
  SessionId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { type AgentInstance, HeldQueue } from "@corral/domain/run/AgentProfile"
import { Isolation, RunMode } from "@corral/domain/run/Run"
import { Schema } from "effect"
import { createHash } from "node:crypto"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"

const SessionAgentRow = Schema.Struct({
  id: AgentInstanceId,
  session_id: SessionId,
  agent_id: AgentId,
  label: Schema.String,
  target_id: DeviceId,
  workspace: WorkspaceId,
  mode: RunMode,
  model: Schema.NullOr(Schema.String),
  isolation: Schema.NullOr(Isolation),
  /** Of `placeOf`. */
  place: Schema.String,
  conversation_run_id: Schema.NullOr(RunId),
  /** Why messages of the agent are held. Read as NULL without such messages. */
  held: Schema.NullOr(jsonColumn(HeldQueue)),
  added_by: UserId,
  added_at: Timestamp
})
export type SessionAgentRow = typeof SessionAgentRow.Type

const HELD = `CASE WHEN EXISTS (
  SELECT 1 FROM messages m WHERE m.session_id = session_agents.session_id AND m.recipient = session_agents.id
    AND m.delivery = 'pending' AND m.held
) THEN held END AS held`

/** Of the table by its own name. */
export const SESSION_AGENT_COLUMNS = Object.keys(SessionAgentRow.fields)
  .map((column) => (column === "held" ? HELD : column))
  .join(", ")

export const sessionAgentRows = storedRows("session_agents", SessionAgentRow)

export const agentInstanceOf = (row: SessionAgentRow): AgentInstance => ({
  id: row.id,
  sessionId: row.session_id,
  agentId: row.agent_id,
  label: row.label,
  targetId: row.target_id,
  workspace: row.workspace,
  mode: row.mode,
  ...(row.model === null ? {} : { model: row.model }),
  ...(row.isolation === null ? {} : { isolation: row.isolation }),
  ...(row.held === null ? {} : { held: row.held }),
  addedBy: row.added_by,
  addedAt: row.added_at.toISOString()
})

/** Identifies a folder of a target. A hash, because names may be longer than an index entry. */
export const placeOf = (targetId: DeviceId, workspace: WorkspaceId): string =>
  createHash("md5").update(`${targetId} ${workspace}`).digest("hex")

/** The place at which the agent takes turns with others; `undefined` where it has its own checkout. */
export const sharedPlaceOf = ({
  isolation,
  place
}: Pick<SessionAgentRow, "isolation" | "place">): string | undefined =>
  isolation === "worktree" ? undefined : place
