/**
 * Codecs of the tables `chat_links` and `chat_bindings`, with the columns of a chat account and the lock on one.
 */
import { ChatBindingId, UserId } from "@corral/domain/identity/Ids"
import { Schema, Struct } from "effect"
import { Timestamp, storedRows } from "../store/StoredRows.ts"
import { ChatAccount, type ChatBinding, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import type { SqlClient } from "effect/sql"

// Codec of the table `chat_bindings`.

const ChatBindingRow = Schema.Struct({
  id: ChatBindingId,
  ...ChatAccount.fields,
  name: Schema.NullOr(Schema.String),
  created_at: Timestamp
})

const BindingOwnerRow = Schema.Struct({ id: ChatBindingId, user_id: UserId })
export type BindingOwnerRow = typeof BindingOwnerRow.Type

export const chatBindingRows = storedRows("chat_bindings", ChatBindingRow)
export const bindingOwnerRows = storedRows("chat_bindings", BindingOwnerRow)
/** With the last sign-in of the user at the identity provider. */
export const activeBindingRows = storedRows(
  "chat_bindings",
  Schema.Struct({ ...BindingOwnerRow.fields, signed_in_at: Timestamp })
)

export const CHAT_BINDING_COLUMNS = Object.keys(ChatBindingRow.fields).join(", ")

export const bindingOf = ({ created_at, name, ...binding }: typeof ChatBindingRow.Type): ChatBinding => ({
  ...binding,
  ...(name === null ? {} : { name }),
  createdAt: created_at.toISOString()
})

// Columns of a chat account, and the lock on one.

/** Condition of the rows of an account. */
export const accountCondition = (sql: SqlClient.SqlClient, { account, app, platform, tenant }: ChatAccount) =>
  sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND account = ${account}`

/** The columns of an account, without further fields. */
export const accountColumns = ({ account, app, platform, tenant }: ChatAccount) => ({
  platform,
  app,
  tenant,
  account
})

/** Serializes transactions that change one account, until the transaction ends. */
export const lockAccount = (sql: SqlClient.SqlClient, account: ChatAccount) =>
  sql`SELECT pg_advisory_xact_lock(hashtextextended(${`chat ${encodeChatAccount(account)}`}, 0))`

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
