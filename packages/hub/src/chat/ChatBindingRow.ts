/** Codec of the table `chat_bindings`. */
import { ChatAccount, type ChatBinding } from "@corral/domain/chat/ChatAccount"
import { ChatBindingId, UserId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

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
