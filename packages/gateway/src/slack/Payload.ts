/** Slack's payloads: the fields that the inbox needs, of events and of clicks on buttons. Other fields are dropped. */
import { Schema } from "effect"
import { PlatformId } from "../platform/PlatformId.ts"

const optionalId = Schema.optionalKey(Schema.NullOr(PlatformId))

/** Type and app of any payload. */
export const Payload = Schema.Struct({
  type: PlatformId,
  api_app_id: Schema.optionalKey(Schema.String)
})

export const SlackUrlVerification = Schema.Struct({
  type: Schema.Literal("url_verification"),
  challenge: Schema.String.check(Schema.isMaxLength(4_096))
})

export const EventCallback = Schema.Struct({
  type: Schema.Literal("event_callback"),
  team_id: PlatformId,
  event_id: PlatformId,
  event: Schema.Record(Schema.String, Schema.Unknown)
})

/** A message or a mention: the fields that decide whether it is for the bot. */
export const SlackMessageEvent = Schema.Struct({
  type: Schema.Literals(["message", "app_mention"]),
  subtype: Schema.optionalKey(Schema.NullOr(Schema.String)),
  bot_id: Schema.optionalKey(Schema.Unknown),
  channel: PlatformId,
  user: Schema.optionalKey(Schema.Unknown),
  channel_type: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** A click. Only its first action counts. */
export const BlockActions = Schema.Struct({
  type: Schema.Literal("block_actions"),
  team: Schema.Struct({ id: PlatformId }),
  user: Schema.Struct({ id: PlatformId, team_id: optionalId }),
  channel: Schema.optionalKey(Schema.NullOr(Schema.Struct({ id: PlatformId }))),
  container: Schema.optionalKey(Schema.Struct({ message_ts: optionalId, channel_id: optionalId })),
  actions: Schema.NonEmptyArray(
    Schema.Struct({
      action_id: Schema.String.check(Schema.isMaxLength(255)),
      action_ts: PlatformId,
      value: Schema.optionalKey(Schema.Unknown)
    })
  ),
  /** Secret: allows messages to the user who clicked. Stored with the event only. */
  response_url: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(1_024))))
})
export type BlockActions = typeof BlockActions.Type

/** Chat and message of a click. Absent if the click was not in a message. */
export const cardRefOf = ({ channel, container }: BlockActions) => ({
  chatId: channel?.id ?? container?.channel_id ?? undefined,
  messageId: container?.message_ts ?? undefined
})
