/**
 * Messages of a session: texts of users, and final texts of agents. The output of a run in progress is in its events.
 */
import { Schema } from "effect"
import { AgentInstanceId, MessageId, RunId, SessionId, UserId } from "../identity/Ids.ts"
import { isStorableText } from "../text/Text.ts"

/** A user or an agent of the session. */
export const MessageAuthor = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("user"), userId: UserId }),
  Schema.Struct({ kind: Schema.Literal("agent"), agentInstanceId: AgentInstanceId })
])
export type MessageAuthor = typeof MessageAuthor.Type

/** A message of a session. `runId`: the run that it belongs to. */
export const Message = Schema.Struct({
  id: MessageId,
  sessionId: SessionId,
  author: MessageAuthor,
  text: Schema.String,
  runId: Schema.optionalKey(RunId),
  createdAt: Schema.String
}).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

/** Body of POST /client/sessions/{id}/messages. */
export const CreateMessage = Schema.Struct({
  text: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(262_144), isStorableText),
  runId: Schema.optionalKey(RunId)
}).annotate({ identifier: "CreateMessage" })
export type CreateMessage = typeof CreateMessage.Type
