/** Codec of the table `chat_links`. */
import { UserId } from "@corral/domain/identity/Ids"
import { Schema, Struct } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const columns = {
  id: Schema.String,
  code_hash: Schema.Uint8Array,
  platform: Schema.String,
  tenant: Schema.String,
  account: Schema.String,
  name: Schema.NullOr(Schema.String),
  tenant_name: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  expires_at: Timestamp,
  user_id: Schema.NullOr(UserId),
  tries: Schema.Int,
  ended_at: Schema.NullOr(Timestamp),
  binding_id: Schema.NullOr(Schema.String)
}

const ChatLinkRow = Schema.Struct(Struct.omit(columns, ["id", "code_hash", "tries"]))
export type ChatLinkRow = typeof ChatLinkRow.Type

/** A link that a user has confirmed. */
const ConfirmedLinkRow = Schema.Struct({
  ...Struct.pick(columns, ["id", "code_hash", "tries", "name"]),
  number_hash: Schema.Uint8Array,
  user_id: UserId
})
export type ConfirmedLinkRow = typeof ConfirmedLinkRow.Type

export const CHAT_LINK_COLUMNS = Object.keys(ChatLinkRow.fields).join(", ")
export const chatLinkRows = storedRows("chat_links", ChatLinkRow)
export const confirmedLinkRows = storedRows("chat_links", ConfirmedLinkRow)
export const chatLinkIdRows = storedRows("chat_links", Schema.Struct({ id: columns.id }))
export const chatLinkStartRows = storedRows("chat_links", Schema.Struct({ created_at: columns.created_at }))
export const chatLinkExpiryRows = storedRows(
  "chat_links",
  Schema.Struct({ id: columns.id, expires_at: columns.expires_at })
)
