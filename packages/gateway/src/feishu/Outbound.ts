/**
 * Messages of the bot: new texts and cards, replies and updates, within the platform's rate limits.
 *
 * Guarantees: within an hour, a key is sent once, because the platform recognizes it. A reply stays in the thread (`omt_…`) of its message, and
 * starts no thread.
 */
import { Effect, Schema } from "effect"
import type { ChatPlatform, MessageContent, Destination } from "../platform/ChatPlatform.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import { type FeishuCall, pathSegment, SentMessage } from "./FeishuApi.ts"
import { toFeishuCard } from "./FeishuCard.ts"
import { makeRateLimiter } from "./RateLimiter.ts"
import { plainText } from "./PlainText.ts"

/** The platform accepts texts of 150 KB. `textMax` characters are less in any script. */
export const limits = { textMax: 30_000, perChat: 5, perMessage: 5, buttons: 20 }

/** Maximum number of direct chats in memory. */
const MAX_DIRECT_CHATS = 1_000

export const makeOutbound = (
  call: FeishuCall,
  language: keyof LocalizedText
): Pick<ChatPlatform, "send" | "update"> => {
  const limitPerChat = makeRateLimiter(limits.perChat)
  const limitPerMessage = makeRateLimiter(limits.perMessage)
  /** Direct chats by user, so that a chat has one limit under both names. */
  const directChats = new Map<string, string>()
  const chatOf = (place: Destination): string =>
    place._tag === "Chat" ? place.chatId : (directChats.get(place.userId) ?? place.userId)
  const remember = (place: Destination, chatId: string) => {
    if (place._tag === "Chat") return
    directChats.delete(place.userId)
    directChats.set(place.userId, chatId)
    const [oldest] = directChats.keys()
    if (directChats.size > MAX_DIRECT_CHATS && oldest !== undefined) directChats.delete(oldest)
  }

  const bodyOf = (content: MessageContent, key: string) =>
    content._tag === "Text"
      ? { msg_type: "text", content: JSON.stringify({ text: plainText(content.text) }), uuid: key }
      : { msg_type: "interactive", content: JSON.stringify(toFeishuCard(content.card, language)), uuid: key }

  const sendMessage = (place: Destination, content: MessageContent, key: string) => {
    const body = bodyOf(content, key)
    return call(SentMessage, (client) => {
      const { create, reply } = client.im.v1.message
      if (place._tag === "Chat" && place.replyTo !== undefined)
        return reply({
          path: { message_id: pathSegment(place.replyTo) },
          data: { ...body, reply_in_thread: place.threadId?.startsWith("omt_") === true }
        })
      const [receive_id, receive_id_type] =
        place._tag === "Chat" ? ([place.chatId, "chat_id"] as const) : ([place.userId, "open_id"] as const)
      return create({ params: { receive_id_type }, data: { ...body, receive_id } })
    })
  }

  return {
    send: (place, content, key) =>
      sendMessage(place, content, key).pipe(
        (call) => Effect.suspend(() => limitPerChat(chatOf(place))(call)),
        Effect.map(({ data }) => {
          remember(place, data.chat_id)
          return { chatId: data.chat_id, messageId: data.message_id }
        })
      ),
    update: ({ messageId }, card) => {
      const content = JSON.stringify(toFeishuCard(card, language))
      const changed = call(Schema.Unknown, (client) =>
        client.im.v1.message.patch({ path: { message_id: pathSegment(messageId) }, data: { content } })
      )
      return changed.pipe(limitPerMessage(messageId), Effect.asVoid)
    }
  }
}
