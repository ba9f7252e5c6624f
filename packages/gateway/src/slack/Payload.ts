/** What Slack sends, as far as one needs to know it to keep it: events, and clicks on buttons. What else there is in it is left out. */
import { Schema } from "effect"
import { PlatformId } from "../platform/PlatformId.ts"

const optionalId = Schema.optionalKey(Schema.NullOr(PlatformId))

/** Whatever it is, and whose. */
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

/** A message of an event, or a mention; only as much as tells whether it is one that a bot hears. */
export const SlackMessageEvent = Schema.Struct({
  type: Schema.Literals(["message", "app_mention"]),
  subtype: Schema.optionalKey(Schema.NullOr(Schema.String)),
  bot_id: Schema.optionalKey(Schema.Unknown),
  channel: PlatformId,
  user: Schema.optionalKey(Schema.Unknown),
  channel_type: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** Cards have one button under a click; where there were more, the first counts. */
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
  /** Who knows it may say something to who clicked: it goes where the event goes, and nowhere else. */
  response_url: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(1_024))))
})
export type BlockActions = typeof BlockActions.Type

/** Where a click was made: absent where it was in no message. */
export const cardRefOf = ({ channel, container }: BlockActions) => ({
  chatId: channel?.id ?? container?.channel_id ?? undefined,
  messageId: container?.message_ts ?? undefined
})
