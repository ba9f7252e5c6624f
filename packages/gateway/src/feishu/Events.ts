/** Conversion of Feishu's envelopes to stored events, for webhooks and long connections. */
import { type Inbound, type InboundKind, PlatformId, type Verification } from "../platform/ChatPlatform.ts"
import type { FeishuConfig } from "./FeishuConfig.ts"
import { Option, Schema } from "effect"

// Envelope of Feishu's events: the fields that the inbox needs. Other fields stay unchanged.

export const Encrypted = Schema.Struct({ encrypt: Schema.String })

export const FeishuUrlVerification = Schema.Struct({
  type: Schema.Literal("url_verification"),
  token: Schema.String,
  challenge: Schema.String.check(Schema.isMaxLength(4_096))
})

export const FeishuEnvelope = Schema.Struct({
  schema: Schema.Literal("2.0"),
  header: Schema.Struct({
    event_id: PlatformId,
    event_type: PlatformId,
    create_time: Schema.optionalKey(Schema.String),
    /** May be absent over a long connection. */
    token: Schema.optionalKey(Schema.String),
    app_id: Schema.String,
    tenant_key: PlatformId
  }),
  event: Schema.Record(Schema.String, Schema.Unknown)
})
export type FeishuEnvelope = typeof FeishuEnvelope.Type

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined

const isPlatformId = Schema.decodeUnknownOption(PlatformId)

/** A valid platform id, or "". */
const idOf = (value: unknown): string => Option.getOrElse(isPlatformId(value), () => "")

/** Id of the chat of a message, a recall or a click; "" if the event has no valid id. */
export const chatOf = (event: FeishuEnvelope["event"]): string =>
  idOf(
    field(field(event, "message"), "chat_id") ??
      field(event, "chat_id") ??
      field(field(event, "context"), "open_chat_id")
  )

/** Open id of the account that wrote or clicked; "" if the event has no valid id. */
export const senderOf = (event: FeishuEnvelope["event"]): string =>
  idOf(
    field(field(field(event, "sender"), "sender_id"), "open_id") ?? field(field(event, "operator"), "open_id")
  )

/** Id of the message whose button was clicked; "" if the event has no valid id. */
export const cardIdOf = (event: FeishuEnvelope["event"]): string =>
  idOf(field(field(event, "context"), "open_message_id"))

const kinds: Readonly<Record<string, InboundKind>> = {
  "im.message.receive_v1": "message",
  "im.message.recalled_v1": "message_change",
  "card.action.trigger": "card_action"
}

/** Undefined for a type of event that the Gateway does not use. */
export const inboundKindOf = ({ header }: FeishuEnvelope): InboundKind | undefined =>
  Object.hasOwn(kinds, header.event_type) ? kinds[header.event_type] : undefined

type Refused = Extract<Verification, { readonly _tag: "Refused" }>

/** Check that an event belongs to this app and to a served tenant. It returns the refusal, if any. */
export const makeOriginCheck = ({ appId, tenants }: Pick<FeishuConfig, "appId" | "tenants">) => {
  const served = new Set(tenants)
  const refuse = (reason: string): Refused => ({ _tag: "Refused", code: "permission_denied", reason })
  return ({ header }: FeishuEnvelope): Refused | undefined => {
    if (header.app_id !== appId) return refuse("another app")
    return served.size > 0 && !served.has(header.tenant_key) ? refuse("another tenant") : undefined
  }
}

/** The event as the inbox stores it. */
export const inboundOf = (
  platform: string,
  kind: InboundKind,
  { event, header }: FeishuEnvelope,
  receivedAt: number
): Inbound => ({
  platform,
  app: header.app_id,
  tenant: header.tenant_key,
  upstreamId: header.event_id,
  kind,
  chatId: chatOf(event),
  senderId: senderOf(event),
  cardId: kind === "card_action" ? cardIdOf(event) : "",
  body: JSON.stringify(event),
  receivedAt
})
