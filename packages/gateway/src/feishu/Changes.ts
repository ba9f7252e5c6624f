/** Recalled messages of Feishu. The platform has no event for an edited message. */
import { Option, Schema } from "effect"
import type { Inbound, MessageChange } from "../platform/ChatPlatform.ts"
import { PlatformId } from "../platform/PlatformId.ts"

const Recalled = Schema.Struct({
  message_id: PlatformId,
  chat_id: PlatformId,
  /** Others than the author, such as the owner of a group, recall what a reader should not see. */
  recall_type: Schema.Literal("message_owner")
})

const asRecalled = Schema.decodeUnknownOption(Schema.fromJsonString(Recalled))

export const feishuChangeOf = ({ body }: Pick<Inbound, "body">): MessageChange | undefined =>
  Option.match(asRecalled(body), {
    onNone: () => undefined,
    onSome: ({ chat_id, message_id }) => ({ chatId: chat_id, messageId: message_id, text: undefined })
  })
