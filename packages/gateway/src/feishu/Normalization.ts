/**
 * Normalization of Feishu's events: a message to the bot, or a click on one of its cards. In a group, a message to the bot mentions the bot's
 * id. Names are not unique, so they do not count.
 */
import type { IntegrationDraft } from "@corral/domain/chat/Integration"
import { draft } from "@corral/domain/run/RunEvent"
import { Effect, Option, Schema } from "effect"
import type { FormValues } from "../platform/Card.ts"
import type { Inbound, NotUnderstood, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { notUnderstood, originOf } from "../platform/InboundEvent.ts"
import { PlatformId } from "../platform/PlatformId.ts"
import { readContent } from "./MessageContent.ts"

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
