/** What users do with a conversation besides writing in it: reading marks, exports and forks. */
import { Schema } from "effect"
import { MessageId, SessionId } from "../identity/Ids.ts"

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
