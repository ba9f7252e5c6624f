/**
 * A Hub session: one conversation of people and agents inside a project. (The sign-in of a person is `User`'s `SignedIn`.)
 */
import { Schema } from "effect"
import { AgentInstance } from "../run/AgentProfile.ts"
import { ProjectId, RunId, SessionId, UserId } from "../identity/Ids.ts"
import { storable } from "../text/Text.ts"

/** An archived session can be opened again; a closed one stays closed. Both are read-only. */
export const SessionState = Schema.Literals(["active", "archived", "closed"])
export type SessionState = typeof SessionState.Type

const title = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), storable)

/** The contract's element of a session list. */
export const SessionItem = Schema.Struct({
  id: SessionId,
  projectId: ProjectId,
  title: Schema.String,
  state: SessionState,
  updatedAt: Schema.String
}).annotate({ identifier: "SessionItem" })
export type SessionItem = typeof SessionItem.Type

/** The collaboration state of one session: its agents and the runs that are not over. */
export const Session = Schema.Struct({
  ...SessionItem.fields,
  createdBy: UserId,
  createdAt: Schema.String,
  agents: Schema.Array(AgentInstance),
  activeRuns: Schema.Array(RunId)
}).annotate({ identifier: "Session" })
export type Session = typeof Session.Type

export const CreateSession = Schema.Struct({ projectId: ProjectId, title }).annotate({
  identifier: "CreateSession"
})
export type CreateSession = typeof CreateSession.Type

export const UpdateSession = Schema.Struct({
  title: Schema.optionalKey(title),
  state: Schema.optionalKey(SessionState)
}).annotate({ identifier: "UpdateSession" })
export type UpdateSession = typeof UpdateSession.Type
