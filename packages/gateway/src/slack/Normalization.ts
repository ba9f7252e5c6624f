/**
 * Normalization of Slack's events: a message to the bot, an edited or a deleted one, or a click on one of its cards. Changes come as messages with a
 * subtype, as do previews of links and updates of cards, which change no text of a user.
 *
 * Users of other workspaces are ignored. They can write in a shared channel, but user ids are unique only within a workspace, and an event
 * names the bot's workspace.
 */
import type { IntegrationDraft } from "@corral/domain/chat/Integration"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { Effect, Option, Schema } from "effect"
import {
  type FormValues,
  type Inbound,
  type MessageChange,
  type NotUnderstood,
  PlatformId,
  type PlatformUnavailable,
  notUnderstood,
  originOf
} from "../platform/ChatPlatform.ts"
import { BlockActions, cardRefOf, formValuesOf, removeMarkup } from "./Payload.ts"

type Attachment = NonNullable<PayloadOf<"integration.message.received">["attachments"]>[number]

const optionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

const Message = Schema.Struct({
  type: Schema.String,
  user: PlatformId,
  channel: PlatformId,
  ts: PlatformId,
  thread_ts: Schema.optionalKey(Schema.NullOr(PlatformId)),
  text: optionalText,
  team: optionalText,
  user_team: optionalText,
  source_team: optionalText,
  files: Schema.optionalKey(
    Schema.NullOr(Schema.Array(Schema.Struct({ id: PlatformId, name: optionalText, mimetype: optionalText })))
  )
})
type Message = typeof Message.Type

const asMessage = Schema.decodeUnknownEffect(Schema.fromJsonString(Message))
const asClick = Schema.decodeUnknownEffect(Schema.fromJsonString(BlockActions))
const isPlatformId = Schema.is(PlatformId)

/** Text that PostgreSQL can store. */
const storable = (text: string): string => text.replaceAll("\0", "").toWellFormed()

const attachmentOf = ({ id, mimetype, name }: NonNullable<Message["files"]>[number]): Attachment => {
  const [major = ""] = (mimetype ?? "").split("/", 1)
  const kind = major === "image" || major === "audio" ? major : "file"
  return { kind, key: id, ...(typeof name === "string" ? { name: storable(name) } : {}) }
}

const isFromTenant = (tenant: string, teams: ReadonlyArray<string | null | undefined>): boolean =>
  teams.every((team) => team === undefined || team === null || team === tenant)

const message = Effect.fnUntraced(function* (
  inbound: Inbound,
  botId: Effect.Effect<string, PlatformUnavailable>
) {
  const received = yield* Effect.mapError(asMessage(inbound.body), notUnderstood)
  if (!isFromTenant(inbound.tenant, [received.team, received.user_team, received.source_team]))
    return undefined
  const direct = received.type === "message"
  // Mentions of the bot are removed from the text. A direct chat works without the bot's id.
  const bot = yield* direct ? Effect.orElseSucceed(botId, () => undefined) : botId
  if (received.user === bot) return undefined
  const attachments = (received.files ?? []).map(attachmentOf)
  return draft("integration.message.received", {
    ...originOf(inbound),
    chatId: received.channel,
    chatType: direct ? "direct" : "group",
    ...(typeof received.thread_ts === "string"
      ? { threadId: received.thread_ts, rootId: received.thread_ts }
      : {}),
    messageId: received.ts,
    senderId: received.user,
    text: storable(removeMarkup(received.text ?? "", bot)),
    ...(attachments.length === 0 ? {} : { attachments })
  })
})

const cardAction = Effect.fnUntraced(function* (inbound: Inbound) {
  const click = yield* Effect.mapError(asClick(inbound.body), notUnderstood)
  if (!isFromTenant(inbound.tenant, [click.user.team_id])) return undefined
  const [{ value }] = click.actions
  // A click on a link button has no value.
  if (!isPlatformId(value)) return undefined
  const { chatId, messageId } = cardRefOf(click)
  return draft("integration.card.action", {
    ...originOf(inbound),
    ...(chatId === undefined ? {} : { chatId }),
    ...(messageId === undefined ? {} : { messageId }),
    actionId: value,
    operatorId: click.user.id
  })
})

/** `botId` is the user id of the bot. */
export const normalizeSlackEvent = (
  inbound: Inbound,
  botId: Effect.Effect<string, PlatformUnavailable>
): Effect.Effect<IntegrationDraft | undefined, NotUnderstood | PlatformUnavailable> =>
  inbound.kind === "message" ? message(inbound, botId) : cardAction(inbound)

const asSentClick = Schema.decodeUnknownOption(Schema.fromJsonString(BlockActions))

/** What a click sent in the fields of its card. */
export const slackFormValues = ({ body }: Pick<Inbound, "body">): FormValues =>
  Option.match(asSentClick(body), { onNone: () => ({}), onSome: formValuesOf })

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
type StoredChange = typeof StoredChange.Type

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
