/** Codec of the table `sessions`. */
import { AgentInstanceId, ProjectId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { type Session, type SessionItem, SessionState } from "@corral/domain/session/Session"
import { Schema, Struct } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const SessionRow = Schema.Struct({
  id: SessionId,
  project_id: ProjectId,
  title: Schema.String,
  state: SessionState,
  updated_at: Timestamp,
  created_by: UserId,
  created_at: Timestamp,
  default_agent: Schema.NullOr(AgentInstanceId)
})
export type SessionRow = typeof SessionRow.Type

const SessionItemRow = SessionRow.mapFields(Struct.omit(["created_by", "created_at", "default_agent"]))
const unread = { unread: Schema.Int }

export const SESSION_COLUMNS = Object.keys(SessionRow.fields).join(", ")
export const SESSION_ITEM_COLUMNS = Object.keys(SessionItemRow.fields).join(", ")

export const sessionRows = storedRows("sessions", Schema.Struct({ ...SessionRow.fields, ...unread }))
export const sessionItemRows = storedRows("sessions", Schema.Struct({ ...SessionItemRow.fields, ...unread }))
export const sessionStateRows = storedRows("sessions", SessionRow.mapFields(Struct.pick(["state"])))
export const sessionChangeRows = storedRows(
  "sessions",
  SessionRow.mapFields(Struct.pick(["state", "updated_at"]))
)

export const sessionItemOf = ({
  id,
  project_id,
  state,
  title,
  unread,
  updated_at
}: typeof SessionItemRow.Type & { readonly unread?: number }): SessionItem => ({
  id,
  projectId: project_id,
  title,
  state,
  updatedAt: updated_at.toISOString(),
  ...(unread === undefined ? {} : { unread })
})

export const sessionOf = (
  row: SessionRow & { readonly unread?: number },
  agents: Session["agents"],
  activeRuns: Session["activeRuns"]
): Session => ({
  ...sessionItemOf(row),
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  agents,
  ...(row.default_agent === null ? {} : { defaultAgentInstanceId: row.default_agent }),
  activeRuns
})
