/** Codec of the messages of an export, with the names of their authors and the states of their runs. */
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { AgentInstanceId, MessageId, RunId, UserId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import type { Attachment } from "@corral/domain/session/Attachment"
import { attachmentsColumn } from "../session/MessageRow.ts"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const ExportedMessageRow = Schema.Struct({
  id: MessageId,
  user_id: Schema.NullOr(UserId),
  agent_instance_id: Schema.NullOr(AgentInstanceId),
  /** Absent for a removed agent or a deleted user. */
  name: Schema.NullOr(Schema.String),
  text: Schema.String,
  run_id: Schema.NullOr(RunId),
  state: Schema.NullOr(HubRunStatus),
  attachments: attachmentsColumn,
  created_at: Timestamp
})

export const exportedMessageRows = storedRows("messages", ExportedMessageRow)

/** A message of an export. */
export interface ExportedMessage {
  readonly id: MessageId
  readonly author: {
    readonly kind: "agent" | "user"
    readonly id: string
    readonly name: string
  }
  readonly createdAt: string
  readonly text: string
  readonly run?: { readonly id: RunId; readonly state: HubRunStatus }
  readonly attachments?: ReadonlyArray<Attachment>
}

export const exportedMessageOf = (row: typeof ExportedMessageRow.Type): ExportedMessage => {
  const kind = row.user_id === null ? "agent" : "user"
  const id = row.user_id ?? row.agent_instance_id ?? ""
  return {
    id: row.id,
    author: { kind, id, name: row.name ?? id },
    createdAt: row.created_at.toISOString(),
    text: row.text,
    ...(row.run_id === null || row.state === null ? {} : { run: { id: row.run_id, state: row.state } }),
    ...(row.attachments.length === 0 ? {} : { attachments: row.attachments })
  }
}
