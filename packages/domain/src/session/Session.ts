/** Sessions: conversations of users and agents in a project, with reading marks, exports and forks. Not sign-ins, which are in `User`. */
import { AgentInstanceId, MessageId, ProjectId, RunId, SessionId, UserId } from "../identity/Ids.ts"
import { AgentInstance } from "../run/AgentProfile.ts"
import { isStorableText } from "../text/Text.ts"
import { Schema } from "effect"

/** State of a session. `archived` and `closed` sessions are read-only. An archived session can be reopened, a closed one cannot. */
export const SessionState = Schema.Literals(["active", "archived", "closed"])
export type SessionState = typeof SessionState.Type

const title = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), isStorableText)

/** Element of a session list, as the contract defines it. */
export const SessionItem = Schema.Struct({
  id: SessionId,
  projectId: ProjectId,
  title: Schema.String,
  state: SessionState,
  updatedAt: Schema.String,
  /** Messages of others after the caller's read position, up to 100. Absent in the response to a new session. */
  unread: Schema.optionalKey(Schema.Int),
  /** Change sets of the session with something undecided. Absent if there are none. */
  openChanges: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "SessionItem" })
export type SessionItem = typeof SessionItem.Type

/** A session with its agents and its runs in progress. Messages without a recipient go to the default agent, the last one added. */
export const Session = Schema.Struct({
  ...SessionItem.fields,
  createdBy: UserId,
  createdAt: Schema.String,
  agents: Schema.Array(AgentInstance),
  defaultAgentInstanceId: Schema.optionalKey(AgentInstanceId),
  activeRuns: Schema.Array(RunId)
}).annotate({ identifier: "Session" })
export type Session = typeof Session.Type

/** Body of POST /client/sessions. Without a title, the first message gives the session its title. */
export const CreateSession = Schema.Struct({
  projectId: ProjectId,
  title: Schema.optionalKey(title)
}).annotate({
  identifier: "CreateSession"
})
export type CreateSession = typeof CreateSession.Type

/** Body of PATCH /client/sessions/{id}. Absent fields do not change. */
export const UpdateSession = Schema.Struct({
  title: Schema.optionalKey(title),
  state: Schema.optionalKey(SessionState),
  /** An agent of the session that becomes the default. */
  defaultAgentInstanceId: Schema.optionalKey(AgentInstanceId)
}).annotate({ identifier: "UpdateSession" })
export type UpdateSession = typeof UpdateSession.Type

/** Longest title that a message gives its session, in characters. */
const TITLE_CHARACTERS = 60

/** Title from the first message: its first line with text, or `undefined` if it has none. */
export const titleFrom = (message: string): string | undefined => {
  const line = message
    .slice(0, 4_096)
    .split(/[\r\n]/)
    .map((each) => each.trim())
    .find((each) => each !== "")
  if (line === undefined) return undefined
  const characters = [...line]
  return characters.length <= TITLE_CHARACTERS
    ? line
    : `${characters
        .slice(0, TITLE_CHARACTERS - 1)
        .join("")
        .trimEnd()}…`
}

/** Unread messages are counted up to this number. */
export const MAX_UNREAD = 100

/** Body of POST /client/sessions/{id}/read: the last message that the caller has read. */
export const MarkRead = Schema.Struct({ messageId: MessageId }).annotate({ identifier: "MarkRead" })
export type MarkRead = typeof MarkRead.Type

/** The caller's place in a session. `unread` counts later messages of others, up to 100. */
export const ReadPosition = Schema.Struct({
  sessionId: SessionId,
  messageId: MessageId,
  unread: Schema.Int
}).annotate({ identifier: "ReadPosition" })
export type ReadPosition = typeof ReadPosition.Type

/** Body of POST /client/sessions/{id}/fork: the last message of the new session's history. */
export const ForkSession = Schema.Struct({ messageId: MessageId }).annotate({ identifier: "ForkSession" })
export type ForkSession = typeof ForkSession.Type

/** Format of an export. */
export const ExportFormat = Schema.Literals(["markdown", "json"])
export type ExportFormat = typeof ExportFormat.Type
