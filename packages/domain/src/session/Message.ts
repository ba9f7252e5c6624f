/**
 * A message of a session: what a person wrote, or what an agent said in the end. The stream of a run is in its events, not here.
 */
import { Schema } from "effect"
import { AgentInstanceId, MessageId, RunId, SessionId, UserId } from "../identity/Ids.ts"
import { storable } from "../text/Text.ts"

export const MessageAuthor = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("user"), userId: UserId }),
  Schema.Struct({ kind: Schema.Literal("agent"), agentInstanceId: AgentInstanceId })
])
export type MessageAuthor = typeof MessageAuthor.Type

export const Message = Schema.Struct({
  id: MessageId,
  sessionId: SessionId,
  author: MessageAuthor,
  text: Schema.String,
  runId: Schema.optionalKey(RunId),
  createdAt: Schema.String
}).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

/** POST /client/sessions/{id}/messages. */
export const CreateMessage = Schema.Struct({
  text: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(262_144), storable),
  runId: Schema.optionalKey(RunId)
}).annotate({ identifier: "CreateMessage" })
export type CreateMessage = typeof CreateMessage.Type
