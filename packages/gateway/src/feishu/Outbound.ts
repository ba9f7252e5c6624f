/**
 * What the bot says: texts and cards, new ones, answers and changed ones, no faster than the platform takes them.
 *
 * The platform knows a key for an hour: until then the same key is the same message. A thread is the platform's own (`omt_…`); an answer to
 * a message that is in none starts none.
 */
import { Effect, Schema } from "effect"
import type { ChatPlatform, MessageContent, Destination } from "../platform/ChatPlatform.ts"
import type { Words } from "../platform/Words.ts"
import { type FeishuCall, inPath, SentMessage } from "./FeishuApi.ts"
import { toFeishuCard } from "./FeishuCard.ts"
import { paceOf } from "./Pace.ts"
import { plainText } from "./PlainText.ts"

/** 150 KB of a text are taken; what stands here is less in any script. */
export const limits = { textMax: 30_000, perChat: 5, perMessage: 5, buttons: 20 }

/** Direct chats that are remembered. */
const MANY = 1_000

export const outboundOf = (
  call: FeishuCall,
  language: keyof Words
): Pick<ChatPlatform, "send" | "update"> => {
  const chats = paceOf(limits.perChat)
  const messages = paceOf(limits.perMessage)
  /** Direct chats by person: one chat has one pace, whichever way it is named. */
  const directChats = new Map<string, string>()
  const chatOf = (place: Destination): string =>
    place._tag === "Chat" ? place.chatId : (directChats.get(place.userId) ?? place.userId)
  const remember = (place: Destination, chatId: string) => {
    if (place._tag === "Chat") return
    directChats.delete(place.userId)
    directChats.set(place.userId, chatId)
    const [oldest] = directChats.keys()
    if (directChats.size > MANY && oldest !== undefined) directChats.delete(oldest)
  }

  const bodyOf = (content: MessageContent, key: string) =>
    content._tag === "Text"
      ? { msg_type: "text", content: JSON.stringify({ text: plainText(content.text) }), uuid: key }
      : { msg_type: "interactive", content: JSON.stringify(toFeishuCard(content.card, language)), uuid: key }

  const sent = (place: Destination, content: MessageContent, key: string) => {
    const body = bodyOf(content, key)
    return call(SentMessage, (client) => {
      const { create, reply } = client.im.v1.message
      if (place._tag === "Chat" && place.replyTo !== undefined)
        return reply({
          path: { message_id: inPath(place.replyTo) },
          data: { ...body, reply_in_thread: place.threadId?.startsWith("omt_") === true }
        })
      const [receive_id, receive_id_type] =
        place._tag === "Chat" ? ([place.chatId, "chat_id"] as const) : ([place.userId, "open_id"] as const)
      return create({ params: { receive_id_type }, data: { ...body, receive_id } })
    })
  }

  return {
    send: (place, content, key) =>
      sent(place, content, key).pipe(
        (call) => Effect.suspend(() => chats(chatOf(place))(call)),
        Effect.map(({ data }) => {
          remember(place, data.chat_id)
          return { chatId: data.chat_id, messageId: data.message_id }
        })
      ),
    update: ({ messageId }, card) => {
      const content = JSON.stringify(toFeishuCard(card, language))
      const changed = call(Schema.Unknown, (client) =>
        client.im.v1.message.patch({ path: { message_id: inPath(messageId) }, data: { content } })
      )
      return changed.pipe(messages(messageId), Effect.asVoid)
    }
  }
}
