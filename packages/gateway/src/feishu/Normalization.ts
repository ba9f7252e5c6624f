/**
 * Normalization of Feishu's events: a message to the bot, or a click on one of its cards. In a group, a message to the bot mentions the bot's
 * id. Names are not unique, so they do not count.
 */
import type { IntegrationDraft } from "@corral/domain/chat/Integration"
import { type PayloadOf, draft } from "@corral/domain/run/RunEvent"
import { Effect, Option, Schema } from "effect"
import {
  type FormValues,
  type Inbound,
  type NotUnderstood,
  PlatformId,
  type PlatformUnavailable,
  notUnderstood,
  originOf
} from "../platform/ChatPlatform.ts"
import { isJsonObject } from "@corral/domain/text/JsonObject"

// Parser of Feishu message content into plain text and attachments: text, post, image, file and audio. Any other type becomes a file, with
// the type as its key if the content has none. Never throws.

type Attachment = NonNullable<PayloadOf<"integration.message.received">["attachments"]>[number]

interface FeishuContent {
  readonly text: string
  readonly attachments: ReadonlyArray<Attachment>
}

/** Placeholders of mentioned users in the text, with the names that a reader sees. */
type Mentions = ReadonlyMap<string, string>

type Json = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const parsed = (content: string): Json => {
  try {
    const value: unknown = JSON.parse(content)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Text with names instead of keys such as `@_user_1` and `@_user_10`. */
const withNames = (text: string, mentions: Mentions): string =>
  text.replaceAll(/@_user_\d+/g, (key) => mentions.get(key) ?? key)

const attachment = (kind: Attachment["kind"], key: unknown, name?: unknown): ReadonlyArray<Attachment> =>
  typeof key === "string" && key !== ""
    ? [{ kind, key: plain(key), ...(typeof name === "string" ? { name: plain(name) } : {}) }]
    : []

/** Text that PostgreSQL can store. */
const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed()

const elementsOf = (post: Json): ReadonlyArray<ReadonlyArray<Json>> =>
  Array.isArray(post["content"])
    ? post["content"].map((line: unknown) => (Array.isArray(line) ? line.filter(isJsonObject) : []))
    : []

const elementText = (element: Json, mentions: Mentions): string => {
  if (element["tag"] === "at") return mentions.get(textOf(element["user_id"])) ?? ""
  const text = textOf(element["text"])
  const { href } = element
  return element["tag"] === "a" && typeof href === "string" && href !== text ? `${text} (${href})` : text
}

const elementAttachments = (element: Json): ReadonlyArray<Attachment> => {
  if (element["tag"] === "img") return attachment("image", element["image_key"])
  return element["tag"] === "media" ? attachment("file", element["file_key"], element["file_name"]) : []
}

const postOf = (post: Json, mentions: Mentions): FeishuContent => {
  const lines = elementsOf(post)
  const text = lines.map((line) => line.map((element) => elementText(element, mentions)).join(""))
  return {
    text: [textOf(post["title"]), ...text].filter((line, at) => at > 0 || line !== "").join("\n"),
    attachments: lines.flat().flatMap(elementAttachments)
  }
}

const read = (type: string, content: Json, mentions: Mentions): FeishuContent => {
  switch (type) {
    case "text":
      return { text: withNames(textOf(content["text"]), mentions), attachments: [] }
    case "post":
      return postOf(content, mentions)
    case "image":
      return { text: "", attachments: attachment("image", content["image_key"]) }
    case "file":
      return { text: "", attachments: attachment("file", content["file_key"], content["file_name"]) }
    case "audio":
      return { text: "", attachments: attachment("audio", content["file_key"]) }
    // A video, a sticker, a shared contact.
    default:
      return { text: "", attachments: attachment("file", content["file_key"] ?? type, content["file_name"]) }
  }
}

/** `content` is the JSON string in a message. */
const readContent = (type: string, content: string, mentions: Mentions): FeishuContent => {
  const { attachments, text } = read(type, parsed(content), mentions)
  return { text: plain(text).trim(), attachments }
}

const Person = Schema.Struct({ open_id: Schema.optionalKey(Schema.NullOr(Schema.String)) })

const MessageEvent = Schema.Struct({
  sender: Schema.Struct({
    sender_id: Schema.Struct({ open_id: PlatformId }),
    sender_type: Schema.String
  }),
  message: Schema.Struct({
    message_id: PlatformId,
    root_id: Schema.optionalKey(Schema.String),
    thread_id: Schema.optionalKey(Schema.String),
    chat_id: PlatformId,
    chat_type: Schema.String,
    message_type: Schema.String,
    content: Schema.String,
    mentions: Schema.optionalKey(
      Schema.NullOr(
        Schema.Array(
          Schema.Struct({
            key: Schema.String,
            name: Schema.String,
            id: Schema.optionalKey(Schema.NullOr(Person))
          })
        )
      )
    )
  })
})

const CardEvent = Schema.Struct({
  operator: Schema.Struct({ open_id: PlatformId }),
  action: Schema.Struct({
    value: Schema.optionalKey(Schema.Unknown),
    form_value: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
  }),
  context: Schema.optionalKey(
    Schema.Struct({
      open_message_id: Schema.optionalKey(PlatformId),
      open_chat_id: Schema.optionalKey(PlatformId)
    })
  )
})

/** The value of a button on the Gateway's cards. */
const ActionValue = Schema.Struct({ a: PlatformId })

const asMessage = Schema.decodeUnknownEffect(Schema.fromJsonString(MessageEvent))
const asCard = Schema.decodeUnknownEffect(Schema.fromJsonString(CardEvent))
const asCardEvent = Schema.decodeUnknownOption(Schema.fromJsonString(CardEvent))
const asAction = Schema.decodeUnknownOption(ActionValue)
const isPlatformId = Schema.is(PlatformId)

const message = Effect.fnUntraced(function* (
  inbound: Inbound,
  botId: Effect.Effect<string, PlatformUnavailable>
) {
  const { message, sender } = yield* Effect.mapError(asMessage(inbound.body), notUnderstood)
  // Bots could answer each other forever.
  if (sender.sender_type !== "user") return undefined
  const direct = message.chat_type === "p2p"
  const mentions = message.mentions ?? []
  if (!direct && mentions.length === 0) return undefined
  // In a direct chat, the bot's id is only needed to remove mentions from the text.
  const bot =
    mentions.length === 0 ? undefined : yield* direct ? Effect.orElseSucceed(botId, () => undefined) : botId
  const isBot = (mention: (typeof mentions)[number]) => bot !== undefined && mention.id?.open_id === bot
  if (!direct && !mentions.some(isBot)) return undefined
  const shown = new Map(mentions.map((each) => [each.key, isBot(each) ? "" : `@${each.name}`]))
  const { attachments, text } = readContent(message.message_type, message.content, shown)
  const { root_id: root, thread_id: thread = root } = message
  return draft("integration.message.received", {
    ...originOf(inbound),
    chatId: message.chat_id,
    chatType: direct ? "direct" : "group",
    ...(isPlatformId(thread) ? { threadId: thread } : {}),
    ...(isPlatformId(root) ? { rootId: root } : {}),
    messageId: message.message_id,
    senderId: sender.sender_id.open_id,
    text,
    ...(attachments.length === 0 ? {} : { attachments })
  })
})

const cardAction = Effect.fnUntraced(function* (inbound: Inbound) {
  const { action, context, operator } = yield* Effect.mapError(asCard(inbound.body), notUnderstood)
  const found = asAction(action.value)
  // The card of another app.
  if (found._tag === "None") return undefined
  return draft("integration.card.action", {
    ...originOf(inbound),
    ...(context?.open_chat_id === undefined ? {} : { chatId: context.open_chat_id }),
    ...(context?.open_message_id === undefined ? {} : { messageId: context.open_message_id }),
    actionId: found.value.a,
    operatorId: operator.open_id
  })
})

/** `botId` is evaluated only if a user is mentioned. */
export const normalizeFeishuEvent = (
  inbound: Inbound,
  botId: Effect.Effect<string, PlatformUnavailable>
): Effect.Effect<IntegrationDraft | undefined, NotUnderstood | PlatformUnavailable> =>
  inbound.kind === "card_action" ? cardAction(inbound) : message(inbound, botId)

const textsOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter(
    (each): each is string => typeof each === "string" && each !== ""
  )

/** What a click sent in the form of its card. */
export const feishuFormValues = ({ body }: Pick<Inbound, "body">): FormValues => {
  const values = Option.getOrUndefined(asCardEvent(body))?.action.form_value ?? {}
  const entries = Object.entries(values).map(([name, value]) => [name, textsOf(value)] as const)
  return Object.fromEntries(entries.filter(([, texts]) => texts.length > 0))
}
