/** Envelope of Feishu's events: the fields that the inbox needs. Other fields stay unchanged. */
import { Option, Schema } from "effect"
import { PlatformId } from "../platform/PlatformId.ts"

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
