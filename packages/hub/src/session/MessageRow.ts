/** Codec of the table `messages`. The author of a message is a user or an agent; the table ensures that it is one of the two. */
import { AgentInstanceId, MessageId, RunId, SessionId, UserId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const columns = {
  id: MessageId,
  session_id: SessionId,
  text: Schema.String,
  run_id: Schema.NullOr(RunId),
  created_at: Timestamp
}
const UserMessageRow = Schema.Struct({ ...columns, user_id: UserId, agent_instance_id: Schema.Null })
const AgentMessageRow = Schema.Struct({
  ...columns,
  user_id: Schema.Null,
  agent_instance_id: AgentInstanceId
})
const MessageRow = Schema.Union([UserMessageRow, AgentMessageRow])
export type UserMessageRow = typeof UserMessageRow.Type

export const MESSAGE_COLUMNS = Object.keys(UserMessageRow.fields).join(", ")

export const messageRows = storedRows("messages", MessageRow)

export const messageOf = (row: typeof MessageRow.Type): Message => ({
  id: row.id,
  sessionId: row.session_id,
  author:
    row.user_id === null
      ? { kind: "agent", agentInstanceId: row.agent_instance_id }
      : { kind: "user", userId: row.user_id },
  text: row.text,
  ...(row.run_id === null ? {} : { runId: row.run_id }),
  createdAt: row.created_at.toISOString()
})
