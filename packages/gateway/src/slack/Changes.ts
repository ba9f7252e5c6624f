/**
 * Edited and deleted messages of Slack. Both come as messages with a subtype, as do previews of links and updates of cards, which change no
 * text of a user.
 */
import { Option, Schema } from "effect"
import { type Inbound, type MessageChange, PlatformId } from "../platform/ChatPlatform.ts"
import { removeMarkup } from "./Markup.ts"

const text = Schema.optionalKey(Schema.NullOr(Schema.String))

const Written = Schema.Struct({
  subtype: text,
  bot_id: Schema.optionalKey(Schema.Null),
  user: PlatformId,
  ts: PlatformId,
  text
})

const Changed = Schema.Struct({
  type: Schema.Literal("message"),
  subtype: Schema.Literal("message_changed"),
  channel: PlatformId,
  channel_type: text,
  message: Schema.Struct({ ...Written.fields, user: Schema.optionalKey(PlatformId) }),
  previous_message: Written
})

const Deleted = Schema.Struct({
  type: Schema.Literal("message"),
  subtype: Schema.Literal("message_deleted"),
  channel: PlatformId,
  channel_type: text,
  previous_message: Written
})

/** A change as the inbox stores it: of a channel, no text of other messages. */
const StoredChange = Schema.Struct({
  channel: PlatformId,
  ts: PlatformId,
  user: PlatformId,
  /** Absent for a message that is deleted. */
  text: Schema.optionalKey(Schema.String)
})
export type StoredChange = typeof StoredChange.Type

const asEvent = Schema.decodeUnknownOption(Schema.Union([Changed, Deleted]))
const asStored = Schema.decodeUnknownOption(Schema.fromJsonString(StoredChange))

/** A message whose answers remain in its thread. */
const TOMBSTONE = "tombstone"

const mentionsUser = /<@[UW][A-Z0-9]{1,30}/

/**
 * The change of a message that may have been for the bot: in a direct chat, or one that mentions the bot, or anyone if the bot's id is not
 * configured. `undefined` for all others.
 */
export const slackChange = (event: unknown, bot: string | undefined): StoredChange | undefined => {
  const found = Option.getOrUndefined(asEvent(event))
  if (found === undefined) return undefined
  const { channel, channel_type, previous_message: before } = found
  const isMention =
    bot === undefined ? mentionsUser.test(before.text ?? "") : before.text?.includes(`<@${bot}`)
  if (channel_type !== "im" && isMention !== true) return undefined
  const deleted = { channel, ts: before.ts, user: before.user }
  if (found.subtype === "message_deleted" || found.message.subtype === TOMBSTONE) return deleted
  const { text } = found.message
  return typeof text !== "string" || text === before.text ? undefined : { ...deleted, text }
}

/** `bot`: its mentions are not part of the text. */
export const slackChangeOf = (
  { body }: Pick<Inbound, "body">,
  bot: string | undefined
): MessageChange | undefined =>
  Option.match(asStored(body), {
    onNone: () => undefined,
    onSome: ({ channel, text, ts }) => ({
      chatId: channel,
      messageId: ts,
      text: text === undefined ? undefined : removeMarkup(text, bot).replaceAll("\0", "").toWellFormed()
    })
  })
