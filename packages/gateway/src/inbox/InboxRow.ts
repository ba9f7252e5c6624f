/** Codec of the events in the tables `inbox` and `dead_letters`, as their queries name the columns. */
import { Schema } from "effect"
import type { Inbound } from "../platform/ChatPlatform.ts"

export const InboxRow = Schema.Struct({
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  upstreamId: Schema.String,
  kind: Schema.Literals(["message", "message_change", "card_action"]),
  chatId: Schema.String,
  senderId: Schema.String,
  cardId: Schema.String,
  body: Schema.String,
  receivedAt: Schema.Date
})

/** The event of a row. `cardId` stays as it is stored. */
export const inboundOfRow = ({ receivedAt, ...event }: typeof InboxRow.Type): Inbound => ({
  ...event,
  receivedAt: receivedAt.getTime()
})
